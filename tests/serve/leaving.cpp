// Clients that leave or do not read, deadlines, backends that break, and the end of a server.
#include "hosted.hpp"

using namespace diecast;
using namespace diecast::testing;

namespace {

std::string asks(const Json& more, std::string_view content = "hello") { return Client::request("POST", "/v1/chat/completions", Hosted::body(more, content).dump()); }

}  // namespace

TEST_CASE("W1: a client that leaves costs two tokens at most, streamed or not, and one that waits never starts") {
  for (const bool stream : {true, false}) {
    CAPTURE(stream);
    serve::ServerOptions options;
    options.scheduler.running = 1;
    Hosted hosted(endless(), options, 10000);
    hosted.each_token_takes(20);
    Client client(hosted.port());
    client.send(asks({{"stream", stream}, {"max_tokens", 5000}}));
    REQUIRE(hosted.eventually([&] { return hosted.server->stats().running == 1; }));
    Client waits(hosted.port());
    waits.send(asks({{"stream", stream}, {"max_tokens", 5000}}));
    REQUIRE(hosted.eventually([&] { return hosted.server->stats().waiting == 1; }));
    if (stream)
      for (int i = 0; i < 3; ++i) client.until("\"content\":\"");
    waits.leave();
    REQUIRE(hosted.eventually([&] { return hosted.server->stats().waiting == 0; }));
    client.leave();
    const int ran = hosted.model->forwards;
    REQUIRE(hosted.eventually([&] { return hosted.idle(); }));
    CHECK(hosted.model->forwards - ran <= 3);  // one may run while the client leaves
    CHECK(hosted.server->stats().cancelled == 2);
    REQUIRE(hosted.eventually([&] { return hosted.logged("request").size() == 2; }));
    CHECK(hosted.logged("request")[0]["status"] == 499);
    CHECK(hosted.chat({{"max_tokens", 2}}).status == 200);
  }
}

TEST_CASE("W2: what one client does changes nothing for its neighbour") {
  Hosted hosted(endless());
  const std::string alone = Hosted::text_of(hosted.chat({{"max_tokens", 60}}, "neighbour"));
  hosted.each_token_takes(2);
  Client neighbour(hosted.port());
  neighbour.send(asks({{"max_tokens", 60}}, "neighbour"));
  for (int i = 0; i < 5; ++i) {
    Client leaves(hosted.port());
    leaves.send(asks({{"stream", true}, {"max_tokens", 500}}));
    if (i % 2 == 0) leaves.until("data: ");
  }
  CHECK(Hosted::text_of(neighbour.read()) == alone);
  CHECK(hosted.eventually([&] { return hosted.idle(); }));
}

TEST_CASE("A client that does not read holds little memory, then loses its answer") {
  serve::ServerOptions options;
  options.unsent_bytes = 100000;
  options.unsent_time = std::chrono::milliseconds(50);
  options.write_time = std::chrono::milliseconds(20000);
  options.scheduler.cache_tokens = 200000;
  options.logprobs = 1 << 30;
  Hosted hosted(endless(), options, 200000);
  hosted.model->rule = [](std::span<const int>) { return scripted::one_hot(toy_vocab, id_of("a")); };
  Client lazy(hosted.port());
  hosted.model->before_forward = [] { std::this_thread::sleep_for(std::chrono::microseconds(50)); };  // not faster than any server could be
  lazy.small_window();
  lazy.send(asks({{"stream", true}, {"max_tokens", 150000}, {"logprobs", true}, {"top_logprobs", 20}}));
  lazy.until("data: ");
  REQUIRE(hosted.eventually([&] { return hosted.server->stats().cancelled == 1; }));
  CHECK(hosted.server->stats().completion_tokens < 100000);
  REQUIRE(hosted.eventually([&] { return hosted.logged("request").size() == 1; }));
  CHECK(hosted.logged("request")[0]["error"] == "the client does not read its answer");
  CHECK(hosted.idle());
}

TEST_CASE("A server that comes late itself loses nobody: what waits for its thread is no client's fault") {
  serve::ServerOptions options;
  options.unsent_bytes = 1000;
  options.unsent_time = options.write_time = std::chrono::milliseconds(20);
  options.scheduler.cache_tokens = 8192;
  Hosted hosted(endless(), options, 4000);
  const auto texts = [](const Reply& reply) {
    std::string text;
    for (const Json& event : reply.events())
      if (event.is_object()) text += event["choices"][0]["text"].get<std::string>();
    return text;
  };
  const Json asked{{"prompt", "x"}, {"max_tokens", 2000}, {"stream", true}};
  const std::string alone = texts(Client(hosted.port()).post("/v1/completions", asked));
  hosted.log_ms = 100;
  Client client(hosted.port());
  client.send(Client::request("POST", "/v1/completions", asked.dump()));
  client.until("data: ");
  for (int i = 0; i < 4; ++i) CHECK(Client(hosted.port()).get("/health").status == 200);  // each with its line
  CHECK(hosted.eventually([&] { return hosted.server->stats().finished == 2; }));
  CHECK(texts(client.read()) == alone);
  CHECK(hosted.server->stats().cancelled == 0);
}

TEST_CASE("A deadline ends an answer with what it has, or before it began") {
  serve::ServerOptions options;
  options.answer_time = std::chrono::milliseconds(200);
  Hosted hosted(endless(), options);
  hosted.each_token_takes(10);
  const Json json = hosted.chat({{"max_tokens", 900}}).json();
  CHECK(json["choices"][0]["finish_reason"] == "deadline");
  CHECK(json["usage"]["completion_tokens"].get<int>() > 2);
  CHECK(json["usage"]["completion_tokens"].get<int>() < 30);
}

TEST_CASE("A backend that breaks is a 500 with its sentence; in a stream that has begun, an event") {
  Hosted hosted(endless());
  std::atomic<int> left{0};
  hosted.model->before_forward = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // else the error comes before anything was written
    if (left-- == 0) throw Error("the machine is on fire", Blame::program);
  };
  const Reply reply = hosted.chat({{"stream", true}});
  CHECK(reply.status == 500);
  CHECK(reply.error() == "the machine is on fire");
  left = 3;
  const auto events = hosted.chat({{"stream", true}}).events();
  REQUIRE(events.size() >= 3);
  CHECK(events[events.size() - 2]["error"]["message"] == "the machine is on fire");
  CHECK(events.back() == "[DONE]");
  left = 1000;
  CHECK(hosted.chat({{"max_tokens", 3}}).status == 200);
}

TEST_CASE("A server that stops finishes what runs and refuses what is new") {
  Hosted hosted(endless());
  hosted.each_token_takes(5);
  Client runs(hosted.port()), idle(hosted.port()), later(hosted.port()), fresh(hosted.port());
  CHECK(idle.get("/ready").status == 200);
  runs.send(asks({{"stream", true}, {"max_tokens", 100}}));
  runs.until("data: ");
  later.send("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  hosted.server->stop();
  REQUIRE(hosted.eventually([&] { return hosted.logged("stopping").size() == 1; }));
  CHECK(idle.closed());
  later.send("Content-Length: " + std::to_string(Hosted::body(Json::object()).dump().size()) + "\r\n\r\n" + Hosted::body(Json::object()).dump());
  const Reply refused = later.read();
  CHECK(refused.status == 503);
  CHECK(refused.headers.at("retry-after") == "5");
  CHECK(refused.headers.at("connection") == "close");
  CHECK(fresh.get("/health").status == 200);  // it has connected before, and may ask once
  CHECK(Client(hosted.port()).get("/ready").status == 503);
  CHECK(Client(hosted.port()).get("/health").status == 200);
  const Reply finished = runs.read();
  CHECK(finished.events().size() == 103);
  CHECK(finished.events()[101]["choices"][0]["finish_reason"] == "length");
  hosted.join();
  CHECK(hosted.well);
  CHECK_THROWS(Client(hosted.port()));
}

TEST_CASE("Stopped twice, or for too long, a server ends at once") {
  for (const bool twice : {true, false}) {
    serve::ServerOptions options;
    options.stop_time = std::chrono::milliseconds(twice ? 60000 : 100);
    Hosted hosted(endless(), options, 10000);
    hosted.each_token_takes(5);
    Client runs(hosted.port());
    runs.send(asks({{"stream", true}, {"max_tokens", 9000}}));
    runs.until("data: ");
    hosted.server->stop();
    if (twice) hosted.server->stop();
    hosted.join();
    CHECK(runs.closed());
    CHECK(hosted.idle());
  }
}

TEST_CASE("An idle server uses no CPU") {
  Hosted hosted(answers({id_of("a")}));
  Client stays(hosted.port());
  CHECK(stays.post("/v1/chat/completions", Hosted::body(Json::object())).status == 200);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  CHECK(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 0.005);
}

TEST_CASE("An address that cannot be had is a sentence") {
  Hosted hosted(answers({id_of("a")}));
  const auto opened = [&](const std::string& host, std::uint16_t port) {
    auto tokenizer = std::make_shared<scripted::Toy>(toy_pieces());
    Model file;
    serve::ServerOptions options;
    options.host = host;
    options.port = port;
    serve::Server server(std::make_shared<const Engine>(file, hosted.model, tokenizer), options);
  };
  CHECK_THROWS_WITH(opened("127.0.0.1", hosted.port()), Catch::Contains("cannot be served: Address already in use"));
  CHECK_THROWS_WITH(opened("nowhere", 0), Catch::Contains("'nowhere' is no address"));
}
