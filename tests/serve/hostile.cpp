// Requests that are wrong, too large, too slow or too many: a status and a sentence each, and the next request works.
#include "hosted.hpp"

using namespace diecast;
using namespace diecast::testing;

namespace {

struct Wrong {
  std::string body, sentence;
};
void check_refused(const Hosted& hosted, std::string_view path, const Wrong& wrong) {
  CAPTURE(path, wrong.body.substr(0, 200));
  Client client(hosted.port());
  const Reply reply = client.post_text(path, wrong.body);
  CHECK(reply.status == 400);
  CHECK_THAT(reply.error(), Catch::Contains(wrong.sentence));
  CHECK(client.get("/health").status == 200);  // on the same connection
}
std::string with(const std::string& field) { return R"({"messages":[{"role":"user","content":"a"}],)" + field + "}"; }

}  // namespace

TEST_CASE("Wrong JSON is a 400 that says where") {
  Hosted hosted(answers({id_of("a")}));
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += R"({"a":[)";
  for (const Wrong& wrong : {Wrong{"", "not valid JSON"}, Wrong{"{", "not valid JSON"}, Wrong{"[]", "must be a JSON object, but it is array"}, Wrong{"\"x\"", "must be a JSON object"},
                             Wrong{deep, "nests deeper than 32 levels"}, Wrong{R"({"messages":[{"role":"user","content":"\ud800"}]})", "surrogate"},
                             Wrong{R"({"messages":[{"role":"user","content":"\udc00x"}]})", "surrogate"}, Wrong{"{\"prompt\":\"\xff\"}", "ill-formed UTF-8"}, Wrong{with(R"("seed":1e999)"), "number overflow"},
                             Wrong{with(R"("n":1,"n":2)"), "'n' twice"}, Wrong{with("\"seed\":1") + "x", "not valid JSON"}, Wrong{std::string("{\"a\":\"\0\"}", 9), "not valid JSON"}})
    check_refused(hosted, "/v1/chat/completions", wrong);
}

TEST_CASE("Wrong fields are a 400 that names them") {
  Hosted hosted(answers({id_of("a")}));
  for (const Wrong& wrong :
       {Wrong{R"({"messages":[]})", "'messages' is empty"}, Wrong{"{}", "'messages' is missing"}, Wrong{R"({"messages":null})", "'messages' is missing"},
        Wrong{R"({"messages":"x"})", "'messages' must be a list, but it is a string"}, Wrong{R"({"messages":[1]})", "'messages[0]' must be an object, but it is number"},
        Wrong{R"({"messages":[{"role":"user"}]})", "'messages[0].content' is missing"}, Wrong{R"({"messages":[{"content":"x"}]})", "'messages[0].role' is missing"},
        Wrong{R"({"messages":[{"role":"user","content":7}]})", "'messages[0].content' must be a string or a list of parts"}, Wrong{R"({"messages":[{"role":"<eos>","content":"x"}]})", "no role"},
        Wrong{R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":"file:///etc/passwd"}]}]})", "must be \"text\""},
        Wrong{R"({"messages":[{"role":"user","content":"x","contents":1}]})", "unknown fields: 'messages[0].contents'"}, Wrong{with(R"("temprature":1,"xyz":{})"), "unknown fields: 'temprature', 'xyz'"},
        Wrong{with(R"("temperature":"hot")"), "'temperature' must be a number, but it is a string"}, Wrong{with(R"("temperature":-1)"), "temperature is -1"}, Wrong{with(R"("top_p":1.5)"), "top_p is 1.5"},
        Wrong{with(R"("top_k":1.5)"), "'top_k' must be a whole number"}, Wrong{with(R"("top_k":-2)"), "'top_k' is -2 but must be at least -1"}, Wrong{with(R"("max_tokens":0)"), "'max_tokens' is 0 but must be at least 1"},
        Wrong{with(R"("max_tokens":-9223372036854775808)"), "must be at least 1"}, Wrong{with(R"("n":1000000)"), "'n' is 1000000 but must lie between 1 and 128"}, Wrong{with(R"("stream":1)"), "'stream' must be true or false"},
        Wrong{with(R"("stop":"")"), "empty string"}, Wrong{with(R"("stop":[1])"), "'stop' must be a list of strings"}, Wrong{with(R"("seed":1.5)"), "'seed' must be a whole number"},
        Wrong{with(R"("seed":99999999999999999999)"), "'seed' must be a whole number"}, Wrong{with(R"("top_logprobs":3)"), "needs 'logprobs': true"}, Wrong{with(R"("logprobs":true,"top_logprobs":21)"), "between 0 and 20"},
        Wrong{with(R"("stream_options":{"include_usage":true})"), "needs 'stream': true"}, Wrong{with(R"("stream":true,"stream_options":{"usage":1})"), "unknown fields: 'stream_options.usage'"},
        Wrong{with(R"("tools":[{"type":"function"}])"), "'tools' is not supported"}, Wrong{with(R"("response_format":{"type":"json_object"})"), "'response_format' is not supported"},
        Wrong{with(R"("model":7)"), "'model' must be a string"}, Wrong{with(R"("repetition_penalty":0)"), "repetition_penalty is 0"}, Wrong{with(R"("presence_penalty":3)"), "presence_penalty is 3"}})
    check_refused(hosted, "/v1/chat/completions", wrong);
  const std::string id = std::to_string(toy_vocab);
  for (const Wrong& wrong : {Wrong{"{\"prompt\":[" + id + "]}", "token id " + id + " is outside the vocabulary of " + id}, Wrong{R"({"prompt":[-1]})", "token id -1"}, Wrong{R"({"prompt":[99999999999999999999]})", "must hold token ids"},
                             Wrong{R"({"prompt":[1.5]})", "must hold token ids, but it holds the number 1.5"}, Wrong{R"({"prompt":["a",1]})", "'prompt[1]' must be a string"}, Wrong{R"({"prompt":{}})", "'prompt' must be"},
                             Wrong{R"({"prompt":"a","echo":true})", "'echo' is not supported"}, Wrong{R"({"prompt":"a","max_completion_tokens":3})", "unknown fields: 'max_completion_tokens'"}})
    check_refused(hosted, "/v1/completions", wrong);
  check_refused(hosted, "/detokenize", {"{\"tokens\":[" + id + "]}", "outside the vocabulary"});
  check_refused(hosted, "/tokenize", {R"({"content":7})", "'content' must be a string"});
  CHECK(hosted.idle());
}

TEST_CASE("W3: an empty prompt is one BOS, or refused where there is none") {
  Hosted without(answers({id_of("a")})), with_bos(scripted::says(toy_vocab, 1, {id_of("a"), toy_eos}), {}, 1024, true);
  check_refused(without, "/v1/completions", {R"({"prompt":""})", "the prompt has no tokens"});
  check_refused(without, "/v1/completions", {R"({"prompt":[]})", "the prompt has no tokens"});
  check_refused(with_bos, "/v1/chat/completions", {R"({"messages":[]})", "'messages' is empty"});
  check_refused(with_bos, "/v1/completions", {R"({"prompt":[]})", "the prompt has no tokens"});
  const Reply reply = Client(with_bos.port()).post("/v1/completions", Json{{"prompt", ""}});
  CHECK(reply.status == 200);
  CHECK(reply.json()["usage"]["prompt_tokens"] == 1);
}

TEST_CASE("T5: where the template refuses, its own words are the answer") {
  Hosted hosted(answers({id_of("a")}));
  check_refused(hosted, "/v1/chat/completions", {R"({"messages":[{"role":"system","content":"x"},{"role":"user","content":"y"}]})", "this model takes no system message"});
  CHECK(Hosted::text_of(hosted.chat(Json::object())) == "a");
}

TEST_CASE("T2: markers that a client types are text") {
  Hosted hosted(answers({id_of("a")}));
  const Json asked = Hosted::body(Json::object(), "<eos><user>");
  const Json tokens = Client(hosted.port()).post("/tokenize", asked).json();
  CHECK(tokens["count"] == 2 + 11);
  CHECK(tokens["tokens"][1] == id_of("<"));
}

TEST_CASE("What is no HTTP, or too large, is refused and the connection closed") {
  serve::ServerOptions options;
  options.body_bytes = 1000;
  options.header_bytes = 1000;
  Hosted hosted(answers({id_of("a")}), options);
  const auto refused = [&](const std::string& text) {
    Client client(hosted.port());
    client.send(text);
    const Reply reply = client.read();
    CHECK(reply.headers.at("connection") == "close");
    CHECK(client.closed());
    return reply;
  };
  CHECK(refused("hello\r\n\r\n").status == 400);
  CHECK(refused("GET / HTTP/9.9\r\n\r\n").status == 400);
  CHECK(refused("POST /tokenize HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n").status == 400);
  CHECK(refused("POST /tokenize HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello").status == 400);
  CHECK(refused("GET / HTTP/1.1\r\nX: " + std::string(5000, 'x') + "\r\n\r\n").status == 431);
  const Reply large = refused(Client::request("POST", "/tokenize", std::string(100000, ' ')));
  CHECK(large.status == 413);
  CHECK(large.error() == "the request's body is longer than 1000 bytes");
  std::string chunks = "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 100; ++i) chunks += "64\r\n" + std::string(100, ' ') + "\r\n";
  CHECK(refused(chunks).status == 413);
  CHECK(Client(hosted.port()).get("/health").status == 200);
}

TEST_CASE("A body may come in chunks, in pieces, and after 100-continue; requests may come at once") {
  Hosted hosted(answers({id_of("a")}));
  Client client(hosted.port());
  client.send("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n{\"content\":\r\n5\r\n\"abc\"\r\n1\r\n}\r\n0\r\n\r\n");
  CHECK(client.read().json()["count"] == 3);
  for (const char c : Client::request("POST", "/tokenize", R"({"content":"abcd"})")) client.send(std::string(1, c));
  CHECK(client.read().json()["count"] == 4);
  client.send("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 15\r\n\r\n");
  CHECK(client.read(false).status == 100);
  client.send(R"({"content":"x"})");
  CHECK(client.read().json()["count"] == 1);
  client.send(Client::request("POST", "/v1/chat/completions", Hosted::body({{"stream", true}}).dump()) + Client::request("GET", "/health", "") + Client::request("GET", "/nothing", ""));
  CHECK(client.read().events().back() == "[DONE]");
  CHECK(client.read().status == 200);
  CHECK(client.read().status == 404);
  client.send("HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(client.read(false).headers.at("content-length") == "15");
  const std::string body = Hosted::body({{"stream", true}}).dump();
  client.send("POST /v1/chat/completions HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  const Reply old = client.read();
  CHECK(old.headers.count("transfer-encoding") == 0);
  CHECK(old.events().back() == "[DONE]");
}

TEST_CASE("Clients that are slow to ask are told so, idle ones are closed") {
  serve::ServerOptions options;
  options.header_time = std::chrono::milliseconds(150);
  options.body_time = std::chrono::milliseconds(150);
  options.idle_time = std::chrono::milliseconds(300);
  Hosted hosted(answers({id_of("a")}), options);
  Client header(hosted.port()), body(hosted.port()), idle(hosted.port());
  header.send("GET / HTTP/1.1\r\nHo");
  body.send("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{");
  CHECK(header.read().status == 408);
  CHECK(body.read().error() == "the request's body did not come within 0.15 s");
  CHECK(idle.closed());
  CHECK(idle.came().empty());
}

TEST_CASE("More connections, more requests, longer ones than there is room for: 503 and 429, with a time to come back") {
  serve::ServerOptions options;
  options.connections = 3;
  options.scheduler.running = 1;
  options.scheduler.waiting = 1;
  options.body_time = std::chrono::milliseconds(2000);
  options.bodies_bytes = 3000;
  Hosted hosted(endless(), options, 100000);
  hosted.each_token_takes(2);
  {
    Client runs(hosted.port()), waits(hosted.port());
    const std::string request = Client::request("POST", "/v1/chat/completions", Hosted::body({{"stream", true}, {"max_tokens", 5000}}).dump());
    runs.send(request);
    runs.until("data: ");
    waits.send(request);
    REQUIRE(hosted.eventually([&] { return hosted.server->stats().waiting == 1; }));
    {
      const Reply full = hosted.chat(Json::object());
      CHECK(full.status == 429);
      CHECK(full.headers.at("retry-after") == "1");
      CHECK(full.error() == "1 requests wait already, and 1 may");
    }
    REQUIRE(hosted.eventually([&] { return hosted.logged("request").size() == 1; }));
    std::optional<Client> third;
    REQUIRE(hosted.eventually([&] {  // when the connection of the refused one is gone
      third.emplace(hosted.port());
      return third->get("/health").status == 200;
    }));
    Client fourth(hosted.port());
    const Reply many = fourth.read();
    CHECK(many.status == 503);
    CHECK(many.headers.at("retry-after") == "1");
  }
  REQUIRE(hosted.eventually([&] { return hosted.idle(); }));
  Client one(hosted.port()), other(hosted.port());
  one.send("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n" + std::string(2000, ' '));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  other.send("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n" + std::string(2000, ' '));
  CHECK(other.read().error() == "the server reads other long requests");
}
