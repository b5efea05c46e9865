// Everything beside the answers: state, numbers, tokens, the page, and who may ask.
#include "hosted.hpp"

#include <cmath>

using namespace diecast;
using namespace diecast::testing;

TEST_CASE("The server describes itself and its model") {
  Hosted hosted(answers({id_of("HI")}));
  Client client(hosted.port());
  CHECK(client.get("/health").json() == Json{{"status", "ok"}});
  CHECK(client.get("/ready").json() == Json{{"status", "ready"}});
  const Json models = client.get("/v1/models").json();
  REQUIRE(models["data"].size() == 1);
  CHECK(models["data"][0]["id"] == "toy");
  CHECK(models["data"][0]["system_fingerprint"] == "0123456789abcdef");
  CHECK(client.get("/v1/models/toy").json() == models["data"][0]);
  CHECK(client.get("/v1/models/other").status == 404);
  CHECK(client.get("/v1/models?limit=3").status == 200);
  const Reply nothing = client.get("/etc/passwd");
  CHECK(nothing.status == 404);
  CHECK_THAT(nothing.error(), Catch::Contains("/v1/chat/completions"));
  CHECK(client.get("/../../etc/passwd").status == 404);
  CHECK(client.get("/tokenize").status == 405);
  CHECK(client.post_text("/health", "{}").status == 405);
}

TEST_CASE("Text becomes tokens and back") {
  Hosted hosted(answers({id_of("HI")}));
  Client client(hosted.port());
  const Json tokens = client.post("/tokenize", Json{{"content", "aHI"}}).json();
  CHECK(tokens["tokens"] == Json::array({id_of("a"), id_of("HI")}));
  CHECK(tokens["pieces"] == Json::array({"a", "HI"}));
  CHECK(tokens["count"] == 2);
  CHECK(client.post("/detokenize", Json{{"tokens", tokens["tokens"]}}).json() == Json{{"content", "aHI"}});
  CHECK(client.post("/detokenize", Json{{"tokens", Json::array({id_of("\xF0"), id_of("a")})}}).json() == Json{{"content", "\xEF\xBF\xBD" "a"}});
  const Json chat = client.post("/tokenize", Hosted::body(Json::object(), "x")).json();
  CHECK(chat["pieces"] == Json::array({"<user>", "x", "<assistant>"}));
}

TEST_CASE("Prometheus can read the numbers, and they are true") {
  Hosted hosted(answers({id_of("HI")}));
  for (int i = 0; i < 3; ++i) hosted.chat({{"stream", i == 1}});
  hosted.chat({{"nonsense", 1}});
  REQUIRE(hosted.eventually([&] { return hosted.idle() && hosted.logged("request").size() == 4; }));
  const Reply reply = Client(hosted.port()).get("/metrics");
  CHECK(reply.headers.at("content-type") == "text/plain; version=0.0.4");
  for (const char* line :
       {"diecast_requests_total{path=\"/v1/chat/completions\",status=\"200\"} 3\n", "diecast_requests_total{path=\"/v1/chat/completions\",status=\"400\"} 1\n", "diecast_completion_tokens_total 6\n",
        "diecast_prompt_tokens_total 21\n", "diecast_answers_total{how=\"finished\"} 3\n", "diecast_stage_seconds_count{stage=\"prefill\"} 3\n", "diecast_stage_seconds_bucket{stage=\"send\",le=\"+Inf\"} 3\n",
        "diecast_ttft_seconds_count 3\n", "diecast_queue_depth 0\n", "diecast_running 0\n", "# TYPE diecast_ttft_seconds histogram\n"})
    CHECK_THAT(reply.body, Catch::Contains(line));
}

TEST_CASE("With an API key, nobody asks without it") {
  serve::ServerOptions options;
  options.api_key = "secret";
  Hosted hosted(answers({id_of("HI")}), options);
  Client client(hosted.port());
  const std::string body = Hosted::body(Json::object()).dump();
  for (const char* header : {"", "Authorization: Bearer wrong\r\n", "Authorization: Bearer Secret\r\n", "Authorization: Bearer seCret\r\n", "Authorization: Bearer secreT\r\n", "Authorization: Bearer secre\r\n", "Authorization: Bearer secrets\r\n", "Authorization: secret\r\n", "Authorization: Bearer \r\n"}) {
    const Reply reply = client.post_text("/v1/chat/completions", body, header);
    CHECK(reply.status == 401);
    CHECK(reply.headers.at("www-authenticate") == "Bearer");
  }
  CHECK(client.get("/metrics").status == 401);
  CHECK(client.get("/health").status == 200);
  CHECK(client.get("/").status == 200);
  CHECK(client.post_text("/v1/chat/completions", body, "Authorization: Bearer secret\r\n").status == 200);
}

TEST_CASE("Pages of other sites, and names that somebody points at this machine, get nothing") {
  Hosted hosted(answers({id_of("HI")}));
  const auto status = [&](const std::string& headers) {
    Client client(hosted.port());
    client.send("GET /v1/models HTTP/1.1\r\n" + headers + "\r\n");
    return client.read().status;
  };
  const std::string port = std::to_string(hosted.port());
  CHECK(status("Host: localhost:" + port + "\r\n") == 200);
  CHECK(status("Host: 127.0.0.1:" + port + "\r\nOrigin: http://127.0.0.1:" + port + "\r\n") == 200);
  CHECK(status("Host: [::1]:" + port + "\r\n") == 200);
  CHECK(status("Host: localhost\r\nOrigin: https://localhost\r\n") == 200);  // behind a proxy with TLS
  CHECK(status("Host: localhost\r\nOrigin: https://elsewhere.example\r\n") == 403);
  CHECK(status("Host: localhost\r\nOrigin: null\r\n") == 403);
  CHECK(status("Host: rebound.example\r\n") == 403);
  CHECK(status("Host: 127.evil.example\r\n") == 403);
}

TEST_CASE("The path of a prompt: its text with marks, its tokens, spans, the whole distribution") {
  Hosted hosted(endless());
  const Reply reply = Client(hosted.port()).post("/path/explain", Hosted::body({{"temperature", 0.5}, {"seed", 1}}, "<eos>x"));
  REQUIRE(reply.status == 200);
  const Json json = reply.json();
  CHECK(json["text"] == Json::array({{{"text", "<user>"}, {"kind", "control"}}, {{"text", "<eos>x"}, {"kind", "typed"}}, {{"text", "<assistant>"}, {"kind", "control"}}}));
  REQUIRE(json["tokens"].size() == 8);
  CHECK(json["tokens"][0] == Json{{"id", id_of("<user>")}, {"text", "<user>"}, {"control", true}});
  CHECK(json["tokens"][1]["control"] == false);
  std::vector<std::string> stages;
  std::int64_t at = 0;
  bool inner = false;
  for (const Json& span : json["spans"]) {
    if (!span["stage"]) {
      inner = true;
      continue;
    }
    CHECK(span["begin_ns"] == at);
    at = span["end_ns"].get<std::int64_t>();
    stages.push_back(span["name"]);
  }
  CHECK(inner);
  CHECK(stages == std::vector<std::string>{"template", "tokenize", "queue", "prefill", "sample", "send"});
  double mass = 0;
  int count = 0;
  for (const Json& one : json["distribution"]["top"]) {
    mass += std::exp(one["logprob"].get<double>());
    ++count;
  }
  for (const Json& one : json["distribution"]["rest"]) {
    mass += one["count"].get<double>() * std::exp(one["logprob"].get<double>());
    count += one["count"].get<int>();
  }
  CHECK(count == toy_vocab);
  CHECK(mass == Approx(1).epsilon(0.01));
  CHECK(json["sampling"]["temperature"] == 0.5);
  CHECK(json["cache"]["block_tokens"] == 16);
  // the same request to the API begins with the same token
  const Json answer = hosted.chat({{"temperature", 0.5}, {"seed", 1}, {"max_tokens", 1}, {"logprobs", true}}, "<eos>x").json();
  CHECK(answer["choices"][0]["logprobs"]["content"][0]["token"] == json["chosen"]["text"]);
  CHECK(Client(hosted.port()).post("/path/explain", Json{{"prompt", "x"}}).json()["text"][0]["kind"] == "typed");
  CHECK(Client(hosted.port()).post("/path/explain", Json{{"prompt", ""}}).status == 400);
}

TEST_CASE("The page is whole: nothing in it points outside") {
  Hosted hosted(answers({id_of("HI")}));
  const Reply page = Client(hosted.port()).get("/");
  CHECK(page.status == 200);
  CHECK(page.headers.at("content-type") == "text/html; charset=utf-8");
  CHECK_THAT(page.headers.at("content-security-policy"), Catch::Contains("default-src 'none'"));
  for (const char* outside : {"src=\"", "http://", "https://", "@import", "url("}) CHECK_THAT(page.body, !Catch::Contains(outside));
}
