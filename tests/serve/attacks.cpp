// Requests made to hurt: larger, slower or falser than any client's. Each gets a status and a sentence, or loses its connection, and the server goes on.
#include "hosted.hpp"

using namespace diecast;
using namespace diecast::testing;

namespace {

constexpr char post[] = "POST /tokenize HTTP/1.1\r\nHost: localhost\r\n";

// What the server says to these bytes; it closes the connection behind it.
Reply refused(const Hosted& hosted, const std::string& text) {
  Client client(hosted.port());
  client.send(text);
  Reply reply = client.read();
  CHECK(reply.headers.at("connection") == "close");
  CHECK(client.closed());
  return reply;
}
void check_well(const Hosted& hosted) {
  CHECK(Hosted::text_of(hosted.chat(Json::object())) == "a");
  CHECK(hosted.eventually([&] { return hosted.idle(); }));
}
std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("A body that is announced too long is refused before it comes") {
  Hosted hosted(answers({id_of("a")}));
  CHECK(refused(hosted, post + std::string("Content-Length: 52428800\r\n\r\n{")).status == 413);
  CHECK(refused(hosted, post + std::string("Content-Length: 4194305\r\nExpect: 100-continue\r\n\r\n")).status == 413);
  CHECK(refused(hosted, post + std::string("Transfer-Encoding: chunked\r\n\r\n3200000\r\n{")).status == 413);
  Client client(hosted.port());  // one that sends it all the same can read why it is not wanted
  client.send(post + std::string("Content-Length: 5242880\r\n\r\n"));
  for (int i = 0; i < 80 && client.send(std::string(65536, ' ')); ++i) {
  }
  CHECK(client.read().status == 413);
  check_well(hosted);
}

TEST_CASE("Lengths that lie end the request that they belong to, and no other one begins in it") {
  Hosted hosted(answers({id_of("a")}));
  const std::string inner = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const char* length : {"-1", "+5", "0x10", "5 5", "5, 6", "1e3", "18446744073709551616", ""}) {
    CAPTURE(length);
    CHECK(refused(hosted, post + std::string("Content-Length: ") + length + "\r\n\r\n" + inner).status == 400);
  }
  CHECK(refused(hosted, post + std::string("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") + inner).status == 400);
  CHECK(refused(hosted, post + std::string("Transfer-Encoding: chunked\r\n\r\nxyz\r\n")).status == 400);
  CHECK(refused(hosted, post + std::string("Transfer-Encoding: chunked\r\n\r\n-1\r\n")).status == 400);
  CHECK(refused(hosted, post + std::string("Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n")).status == 400);
  for (const char* coding : {"gzip", "chunked, gzip", "identity", "xchunked"}) {
    CAPTURE(coding);
    CHECK(refused(hosted, post + std::string("Transfer-Encoding: ") + coding + "\r\n\r\n" + inner).status == 400);
  }
  Client client(hosted.port());  // shorter than the body: what is left is no request
  client.send(post + std::string("Content-Length: 5\r\n\r\n{\"content\":\"abc\"}"));
  CHECK(client.read().status == 400);
  CHECK(client.read().status == 400);
  CHECK(client.closed());
  check_well(hosted);
}

TEST_CASE("A header that is too long, has too many lines or is none is refused") {
  Hosted hosted(answers({id_of("a")}));
  CHECK(refused(hosted, "GET /" + std::string(20000, 'x') + " HTTP/1.1\r\n\r\n").status == 431);
  CHECK(refused(hosted, "GET / HTTP/1.1\r\n" + repeated("A: b\r\n", 5000) + "\r\n").status == 431);
  CHECK(refused(hosted, "GET / HTTP/1.1\r\n" + std::string(20000, 'y')).status == 431);
  CHECK(refused(hosted, "GET / HTTP/1.1\r\nA b: c\r\n\r\n").status == 400);
  CHECK(refused(hosted, "GET / HTTP/1.1\r\nA: b\x01" "c\r\n\r\n").status == 400);
  CHECK(refused(hosted, "\x16\x03\x01\x02\r\n\r\n").status == 400);  // TLS
  CHECK(refused(hosted, std::string(100, '\0')).status == 400);
  check_well(hosted);
}

TEST_CASE("Methods that an endpoint does not know are refused by name") {
  Hosted hosted(answers({id_of("a")}));
  for (const char* method : {"OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "HEAD", "BREW"}) {
    CAPTURE(method);
    Client client(hosted.port());
    client.send(Client::request(method, "/v1/chat/completions", ""));
    const Reply reply = client.read(std::string(method) != "HEAD");
    CHECK(reply.status == 405);
    CHECK(reply.headers.at("allow") == "POST");
  }
  Client client(hosted.port());
  CHECK(client.post_text("/v1/models", "{}").headers.at("allow") == "GET, HEAD");
  CHECK(client.get("/v1/chat").status == 404);
  CHECK(client.get("/v1/chat/completions/").status == 404);
  CHECK(client.get("//v1/models").status == 404);
  CHECK(client.get("/%76%31/models").status == 404);
  check_well(hosted);
}

TEST_CASE("Clients that send a byte now and then are refused when the time is over") {
  serve::ServerOptions options;
  options.header_time = options.body_time = std::chrono::milliseconds(200);
  Hosted hosted(answers({id_of("a")}), options);
  const std::string endless = "GET / HTTP/1.1\r\nX: " + std::string(10000, 'x');
  const std::string chunks = post + std::string("Transfer-Encoding: chunked\r\n\r\n") + repeated("1\r\n \r\n", 2000);
  for (const std::string& text : {endless, chunks}) {
    Client client(hosted.port());
    const auto began = std::chrono::steady_clock::now();
    client.send(text.substr(0, 80));
    const auto refusals = hosted.logged("request").size();
    const auto took = [&] { return std::chrono::steady_clock::now() - began; };
    for (std::size_t at = 80; hosted.logged("request").size() == refusals && took() < std::chrono::seconds(10) && client.send(text.substr(at, 1)); ++at)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(took() < std::chrono::seconds(5));  // while it still sends, not when it has given up
    CHECK(client.read().status == 408);
  }
  check_well(hosted);
}

TEST_CASE("JSON made to be slow or large is refused early") {
  Hosted hosted(answers({id_of("a")}));
  const auto reply = [&](const std::string& body, const char* path = "/v1/completions") { return Client(hosted.port()).post_text(path, body); };
  std::string fields = "{\"prompt\":\"a\"";
  for (int i = 0; i < 300000; ++i) fields += ",\"" + std::to_string(i) + "\":0";
  CHECK(reply(fields + "}").error() == "an object in the request's JSON has more than 128 fields");
  CHECK(reply("{\"prompt\":[" + repeated("\"a\",", 128) + "\"a\"]}").error() == "129 prompts with 1 answers each were asked, 128 answers are the most");
  CHECK(reply("{\"prompt\":[" + repeated("\"a\",", 64) + "\"a\"],\"n\":2}").status == 400);
  CHECK(reply("{\"prompt\":[" + repeated("9,", 1000000) + "9]}").error() == "the prompt has 1000001 tokens, the context holds 1024");
  CHECK(reply("{\"prompt\":\"" + std::string(20000, 'a') + "\"}").error() == "the prompt has 20000 tokens, the context holds 1024");
  CHECK(reply("{\"prompt\":\"a\",\"seed\":" + std::string(1000000, '1') + "}").status == 400);
  CHECK(reply("{\"prompt\":\"a\",\"n\":128,\"logprobs\":20,\"max_tokens\":1000}").error() == "2688000 log-probabilities were asked for (answers, tokens of each, 1 + 20), 524288 are the most");
  CHECK(reply("{\"prompt\":\"a\",\"n\":2,\"logprobs\":20,\"max_tokens\":1000}").status == 200);
  check_well(hosted);
}

TEST_CASE("Numbers at their ends") {
  Hosted hosted(answers({id_of("a")}));
  const auto status = [&](const std::string& field) { return Client(hosted.port()).post_text("/v1/completions", "{\"prompt\":\"<assistant>\",\"logprobs\":1," + field + "}").status; };
  for (const char* taken : {"\"temperature\":-0", "\"temperature\":-0.0", "\"temperature\":1e-400", "\"temperature\":1e300", "\"temperature\":5e-324", "\"max_tokens\":9223372036854775807", "\"max_tokens\":9223372036854775808", "\"seed\":18446744073709551615",
                            "\"seed\":-9223372036854775808", "\"top_k\":18446744073709551615", "\"top_k\":-1", "\"top_k\":0", "\"stop\":[\"1\",\"2\",\"3\",\"4\",\"5\"]", "\"stop\":[]", "\"min_p\":1", "\"top_p\":1", "\"top_p\":0", "\"top_p\":-0.0", "\"n\":128"}) {
    CAPTURE(taken);
    CHECK(status(taken) == 200);
  }
  for (const char* wrong : {"\"temperature\":1e400", "\"temperature\":-1e-300", "\"temperature\":NaN", "\"temperature\":Infinity", "\"temperature\":\"1\"", "\"max_tokens\":-0", "\"max_tokens\":-1", "\"max_tokens\":1.0", "\"max_tokens\":1e400", "\"seed\":18446744073709551616",
                              "\"seed\":-9223372036854775809", "\"n\":0", "\"n\":-1", "\"n\":129", "\"n\":1000", "\"n\":9223372036854775808", "\"n\":18446744073709551616", "\"top_p\":-0.1", "\"min_p\":-0.1", "\"min_p\":1.1", "\"frequency_penalty\":2.1",
                              "\"stop\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\",\"13\",\"14\",\"15\",\"16\",\"17\"]", "\"stop\":[\"a\",\"\"]", "\"logprobs\":1"}) {
    CAPTURE(wrong);
    CHECK(status(wrong) == 400);
  }
  for (const char* logprobs : {"-1", "21", "1.5", "true", "9223372036854775808"}) CHECK(Client(hosted.port()).post_text("/v1/completions", std::string("{\"prompt\":\"a\",\"logprobs\":") + logprobs + "}").status == 400);
  CHECK(Client(hosted.port()).post_text("/v1/completions", "{\"prompt\":\"a\",\"stop\":\"" + std::string(1025, 'x') + "\"}").status == 400);
  check_well(hosted);
}
