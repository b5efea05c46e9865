// The server at its edges: bounds to the byte, what is true of the numbers that it tells, who is cancelled with whom. Each test is here because the
// code could be broken in a small way and no other test saw it.
#include "hosted.hpp"

#include <diecast/serve/http_text.hpp>
#include <diecast/serve/metrics.hpp>

using namespace diecast;
using namespace diecast::testing;

namespace {

std::string completion(const Json& body) { return Client::request("POST", "/v1/completions", body.dump()); }
// The value of a line of /metrics.
std::string metric(const Hosted& hosted, const std::string& name) {
  const std::string text = Client(hosted.port()).get("/metrics").body;
  const auto at = text.find("\n" + name + " ");
  if (at == std::string::npos) return "absent";
  const auto begin = at + name.size() + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("The length of a chunk is hexadecimal, whatever it is") {  // RFC 9112, 7.1
  for (const auto& [length, text] : {std::pair<std::size_t, std::string>{1, "1"}, {10, "a"}, {15, "f"}, {16, "10"}, {255, "ff"}, {4096, "1000"},
                                     {65535, "ffff"}, {1048576, "100000"}})
    CHECK(serve::chunk_text(std::string(length, 'x'), true) == text + "\r\n" + std::string(length, 'x') + "\r\n");
  CHECK(serve::chunk_text("", true).empty());  // a chunk of nothing would end the body
  CHECK(serve::chunk_text("abc", false) == "abc");
}

TEST_CASE("A bound belongs to its bucket, and a bucket counts all that is below") {  // Prometheus: le is the inclusive upper bound, buckets are cumulative
  serve::Histogram histogram;
  for (const double seconds : {0.5, 0.50001, 30.0, 31.0}) histogram.add(seconds);
  const std::string text = histogram.text("x", "");
  for (const char* line : {"x_bucket{le=\"0.2\"} 0\n", "x_bucket{le=\"0.5\"} 1\n", "x_bucket{le=\"1\"} 2\n", "x_bucket{le=\"10\"} 2\n",
                           "x_bucket{le=\"30\"} 3\n", "x_bucket{le=\"+Inf\"} 4\n", "x_count 4\n"})
    CHECK_THAT(text, Catch::Contains(line));
}

TEST_CASE("JSON may have 128 fields in an object and 32 levels, and no more") {  // docs/serve.md
  Hosted hosted(answers({id_of("a")}));
  const auto status = [&](const std::string& metadata) {
    return Client(hosted.port()).post_text("/v1/completions", "{\"prompt\":\"a\",\"max_tokens\":1,\"metadata\":" + metadata + "}").status;
  };
  const auto fields = [](int count) {
    Json json = Json::object();
    for (int i = 0; i < count; ++i) json[std::to_string(i)] = 0;
    return json.dump();
  };
  const auto nested = [](int levels, const std::string& innermost) {
    return std::string(static_cast<std::size_t>(levels), '[') + innermost + std::string(static_cast<std::size_t>(levels), ']');
  };
  CHECK(status(fields(128)) == 200);
  CHECK(status(fields(129)) == 400);
  for (const char* innermost : {"", "1"}) {
    CAPTURE(innermost);
    CHECK(status(nested(31, innermost)) == 200);  // the request itself is the first level
    CHECK(status(nested(32, innermost)) == 400);
  }
}

TEST_CASE("A body has its own time, not what the header left of its") {
  serve::ServerOptions options;
  options.header_time = std::chrono::milliseconds(1000);
  Hosted hosted(answers({id_of("a")}), options);
  Client client(hosted.port());
  client.send("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15\r\n\r\n{");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  client.send(R"("content":"x"})");
  CHECK(client.read().status == 200);
}

TEST_CASE("The body of a request that is being answered is not one that is being read") {
  serve::ServerOptions options;
  options.bodies_bytes = 3000;
  Hosted hosted(endless(), options);
  hosted.each_token_takes(5);
  Client runs(hosted.port());
  runs.send(completion({{"prompt", "x"}, {"stream", true}, {"max_tokens", 900}, {"metadata", std::string(2000, ' ')}}));
  runs.until("data: ");
  CHECK(Client(hosted.port()).post("/tokenize", Json{{"content", std::string(2000, 'x')}}).status == 200);
}

TEST_CASE("What a client sends ahead waits in its socket, not in the server") {
  Hosted hosted(endless(), {}, 10000);
  hosted.each_token_takes(5);
  Client client(hosted.port());
  client.send(completion({{"prompt", "x"}, {"max_tokens", 9000}}));
  REQUIRE(hosted.eventually([&] { return hosted.server->stats().running == 1; }));
  const std::string more(1 << 20, ' ');
  std::size_t sent = 0;
  for (int full = 0; full < 40 && sent < (std::size_t{64} << 20);) {  // the system's own buffers are smaller
    const std::size_t taken = client.send_now(more);
    sent += taken;
    full = taken > 0 ? 0 : full + 1;
    if (taken == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(sent < std::size_t{64} << 20);
  CHECK(hosted.server->stats().running == 1);  // it is not gone: the answer goes on
}

TEST_CASE("A client that reads nothing is given up after write_time, however little waits for it") {
  serve::ServerOptions options;
  options.unsent_time = std::chrono::milliseconds(50);
  options.write_time = std::chrono::milliseconds(300);
  Hosted hosted(answers({id_of("a")}), options);
  Client lazy(hosted.port());
  lazy.small_window();
  std::string all;
  for (int i = 0; i < 1000; ++i) all += Client::request("GET", "/", "");  // 20 MB of pages, more than any socket holds
  lazy.send(all);
  CHECK(hosted.eventually([&] { return metric(hosted, "diecast_connections") == "1"; }));  // that which asks
  const auto lines = hosted.logged("request");
  CHECK(std::count_if(lines.begin(), lines.end(), [](const Json& line) { return line["path"] == "/"; }) < 1000);
}

TEST_CASE("A client that reads slowly keeps its answer, though all of it takes longer than write_time") {
  serve::ServerOptions options;
  options.unsent_time = std::chrono::milliseconds(100);
  options.write_time = std::chrono::milliseconds(1000);
  Hosted hosted(answers({id_of("a")}), options);
  Client client(hosted.port());
  client.small_window(256 << 10);
  constexpr std::size_t count = 1'500'000;
  const std::string id = std::to_string(id_of("\x01"));
  std::string tokens = "{\"tokens\":[" + id;
  for (std::size_t i = 1; i < count; ++i) tokens += ',' + id;
  client.send(Client::request("POST", "/detokenize", tokens + "]}"));
  for (std::size_t next = 0; client.came().size() < 6 * count && client.more();) {  // \u0001: 6 characters each, 9 MB, more than a socket holds
    if (client.came().size() < next) continue;
    next = client.came().size() + (256 << 10);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  CHECK(client.came().size() >= 6 * count);
}

TEST_CASE("HTTP/1.0: a connection stays where both say so, and ends with a stream") {
  Hosted hosted(answers({id_of("a")}));
  Client client(hosted.port());
  client.send("GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  CHECK(client.read().headers.at("connection") == "keep-alive");
  const std::string body = Hosted::body({{"stream", true}}).dump();
  client.send("POST /v1/chat/completions HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  const Reply reply = client.read();  // it has no length, so its end is the connection's
  CHECK(reply.headers.at("connection") == "close");
  CHECK(reply.events().back() == "[DONE]");
  Client other(hosted.port());
  other.send("GET /health HTTP/1.0\r\n\r\n");
  CHECK(other.read().headers.at("connection") == "close");
  CHECK(other.closed());
}

TEST_CASE("A client may name its request, if the name cannot hurt a log") {
  Hosted hosted(answers({id_of("a")}));
  Client client(hosted.port());
  const auto told = [&](const std::string& name) { return client.get("/health", "X-Request-Id: " + name + "\r\n").headers.at("x-request-id"); };
  for (const std::string& name : {std::string("aZ0-_.9"), std::string(64, 'x')}) CHECK(told(name) == name);
  for (const std::string& name : {std::string(65, 'x'), std::string("a b"), std::string("a\"b"), std::string("<a>"), std::string("a\xC3\xA4")}) CHECK(told(name).size() == 16);
  CHECK(told("a\"b") != told("a\"b"));
}

TEST_CASE("A server of a network answers by any name, but never to a page of another site") {
  serve::ServerOptions options;
  options.host = "0.0.0.0";
  Hosted hosted(answers({id_of("a")}), options);
  const auto status = [&](const std::string& headers) {
    Client client(hosted.port());
    client.send("GET /v1/models HTTP/1.1\r\n" + headers + "\r\n");
    return client.read().status;
  };
  CHECK(status("Host: machine.example\r\n") == 200);
  CHECK(status("Host: machine.example\r\nOrigin: https://machine.example\r\n") == 200);
  CHECK(status("Host: machine.example\r\nOrigin: https://elsewhere.example\r\n") == 403);
}

TEST_CASE("W1: with a client all that it asked is gone, whatever it asked") {
  serve::ServerOptions options;
  options.scheduler.running = 2;
  Hosted hosted(endless(), options, 10000);
  hosted.each_token_takes(10);
  for (const bool stream : {true, false}) {
    CAPTURE(stream);
    Client client(hosted.port());
    client.send(completion({{"prompt", Json::array({"x", "y", "z"})}, {"stream", stream}, {"max_tokens", 9000}}));
    REQUIRE(hosted.eventually([&] { return hosted.server->stats().running == 2 && hosted.server->stats().waiting == 1; }));
    client.leave();
    REQUIRE(hosted.eventually([&] { return hosted.idle(); }));
    CHECK(hosted.eventually([&] { return hosted.server->stats().cancelled == (stream ? 3U : 6U); }));
  }
  Client runs(hosted.port()), explains(hosted.port());
  runs.send(completion({{"prompt", Json::array({"x", "y"})}, {"stream", true}, {"max_tokens", 9000}}));
  runs.until("data: ");
  explains.send(Client::request("POST", "/path/explain", R"({"prompt":"x"})"));
  REQUIRE(hosted.eventually([&] { return hosted.server->stats().waiting == 1; }));
  explains.leave();
  CHECK(hosted.eventually([&] { return hosted.server->stats().waiting == 0; }));
  CHECK(hosted.eventually([&] { return hosted.server->stats().cancelled == 7; }));
}

TEST_CASE("Of several prompts of which one finds no room, none is answered") {
  serve::ServerOptions options;
  options.scheduler.running = 1;
  options.scheduler.waiting = 3;
  Hosted hosted(endless(), options, 10000);
  hosted.each_token_takes(5);
  Client runs(hosted.port()), waits(hosted.port());
  runs.send(completion({{"prompt", "x"}, {"stream", true}, {"max_tokens", 9000}}));
  runs.until("data: ");
  waits.send(completion({{"prompt", "x"}, {"max_tokens", 1}}));
  REQUIRE(hosted.eventually([&] { return hosted.server->stats().waiting == 1; }));
  const Reply refused = Client(hosted.port()).post("/v1/completions", Json{{"prompt", Json::array({"a", "b", "c"})}, {"max_tokens", 9000}});
  CHECK(refused.status == 429);
  CHECK(refused.headers.at("retry-after") == "1");
  CHECK(hosted.eventually([&] { return hosted.server->stats().waiting == 1; }));
  CHECK(hosted.eventually([&] { return hosted.server->stats().cancelled == 2; }));
}

TEST_CASE("Usage counts a prompt once, however many answers it has") {
  Hosted hosted(endless());
  const std::string x(40, 'x'), y(20, 'y');
  Client(hosted.port()).post("/v1/completions", Json{{"prompt", Json::array({x, y})}, {"max_tokens", 1}});
  Json request{{"prompt", Json::array({x, y})}, {"n", 3}, {"max_tokens", 2}};
  const auto check_usage = [](const Json& usage) {
    CHECK(usage["prompt_tokens"] == 60);
    CHECK(usage["prompt_tokens_details"]["cached_tokens"] == 48);  // whole blocks of 16: two of x, one of y
    CHECK(usage["completion_tokens"] == 12);
    CHECK(usage["total_tokens"] == 72);
  };
  check_usage(Client(hosted.port()).post("/v1/completions", request).json()["usage"]);
  request["stream"] = true;
  request["stream_options"] = {{"include_usage", true}};
  const auto events = Client(hosted.port()).post("/v1/completions", request).events();
  check_usage(events.at(events.size() - 2)["usage"]);
}

TEST_CASE("The first token's time ends when its text leaves; decode is what every further one takes") {
  Hosted hosted(endless());
  hosted.each_token_takes(20);
  const Json asked{{"prompt", "x"}, {"max_tokens", 50}, {"stream", true}};
  const auto events = Client(hosted.port()).post("/v1/completions", asked).events();
  const Json timing = events.at(events.size() - 2)["timing"];
  CHECK(timing["prefill"].get<double>() >= 20);
  CHECK(timing.at("decode_per_token").get<double>() >= 20);
  REQUIRE(hosted.eventually([&] { return hosted.logged("request").size() == 1; }));
  const Json line = hosted.logged("request")[0];
  CHECK(line["timing"] == timing);
  CHECK(line["ms"].get<double>() - timing["ttft"].get<double>() >= 500);  // 49 times 20 ms, less what the server itself may come late
  CHECK(49 * timing.at("decode_per_token").get<double>() <= line["ms"].get<double>());

  const Reply whole = Client(hosted.port()).post("/v1/completions", Json{{"prompt", "x"}, {"max_tokens", 4}});
  CHECK(whole.json()["timing"].at("decode_per_token").get<double>() >= 20);
  CHECK(whole.json()["timing"]["send"].get<double>() >= 60);  // nothing of it leaves before all of it is there
  for (const char* stage : {"tokenize;dur=", "queue;dur=", "prefill;dur=", "sample;dur=", "send;dur="})
    CHECK_THAT(whole.headers.at("server-timing"), Catch::Contains(stage));
  CHECK_FALSE(Client(hosted.port()).post("/v1/completions", Json{{"prompt", "x"}, {"max_tokens", 1}}).json()["timing"].contains("decode_per_token"));
}

TEST_CASE("A first token without text is sent when there is some") {
  Hosted hosted(answers({id_of("\xF0"), id_of("\x9F"), id_of("\x98"), id_of("\x80"), id_of("!")}));
  hosted.each_token_takes(30);
  const Reply reply = hosted.chat({{"stream", true}});
  CHECK_THAT(reply.headers.at("server-timing"), !Catch::Contains("send"));  // it is not over when the headers leave
  CHECK(reply.events().at(3)["timing"]["send"].get<double>() >= 90);        // three further tokens until the character is whole
}

TEST_CASE("Numbers of the moment rise and fall, and of paths there are no more than endpoints") {
  Hosted hosted(endless(), {}, 10000);
  CHECK(Client(hosted.port()).get("/nothing?1").status == 404);
  CHECK(Client(hosted.port()).get("/v1/models/toy").status == 200);
  Client(hosted.port()).post("/v1/completions", Json{{"prompt", std::string(40, 'x')}, {"max_tokens", 1}});
  CHECK(metric(hosted, "diecast_requests_total{path=\"other\",status=\"404\"}") == "1");
  CHECK(metric(hosted, "diecast_requests_total{path=\"/v1/models\",status=\"200\"}") == "1");
  CHECK(metric(hosted, "diecast_requests_total{path=\"/nothing\",status=\"404\"}") == "absent");
  CHECK(hosted.eventually([&] { return metric(hosted, "diecast_kv_blocks_cached") == "2"; }));
  CHECK(metric(hosted, "diecast_kv_blocks_free") == std::to_string(hosted.server->stats().blocks - 2));
  CHECK(metric(hosted, "diecast_answers_in_progress") == "0");
  CHECK(metric(hosted, "diecast_clients_gone_total") == "0");
  CHECK(metric(hosted, "diecast_stage_seconds_count{stage=\"send\"}") == "1");
  hosted.each_token_takes(5);
  for (const bool stream : {true, false}) {
    Client client(hosted.port());
    client.send(completion({{"prompt", "x"}, {"stream", stream}, {"max_tokens", 9000}}));
    REQUIRE(hosted.eventually([&] { return hosted.server->stats().running == 1; }));
    CHECK(hosted.eventually([&] { return metric(hosted, "diecast_answers_in_progress") == "1"; }));
    client.leave();
    REQUIRE(hosted.eventually([&] { return hosted.idle(); }));
    CHECK(hosted.eventually([&] { return metric(hosted, "diecast_answers_in_progress") == "0"; }));
    CHECK(metric(hosted, "diecast_clients_gone_total") == (stream ? "1" : "2"));
  }
}

TEST_CASE("A server that nobody asks anything stops at once, whoever is connected") {
  serve::ServerOptions options;
  options.stop_time = std::chrono::milliseconds(20000);
  Hosted hosted(answers({id_of("a")}), options);
  Client served(hosted.port()), fresh(hosted.port());
  CHECK(served.get("/health").status == 200);
  const auto began = std::chrono::steady_clock::now();
  hosted.server->stop();
  hosted.join();
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
  CHECK(hosted.well);
  CHECK(served.closed());
}
