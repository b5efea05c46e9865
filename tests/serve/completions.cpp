// Answers over HTTP: their shape, whole and streamed, where they end, and what they say about themselves.
#include "hosted.hpp"

#include <cmath>

using namespace diecast;
using namespace diecast::testing;

namespace {

std::vector<int> ids_of(const std::vector<std::string>& pieces) {
  std::vector<int> ids;
  for (const std::string& piece : pieces) ids.push_back(id_of(piece));
  return ids;
}
// The text of all events.
std::string joined(const Reply& reply) {
  std::string text;
  for (const Json& event : reply.events())
    if (event.is_object() && !event["choices"].empty() && event["choices"][0]["delta"].contains("content")) text += event["choices"][0]["delta"]["content"].get<std::string>();
  return text;
}
// Stages are milliseconds whose decimals are whole nanoseconds.
void check_timing(const Json& timing, const std::vector<std::string>& stages) {
  std::vector<std::string> names;
  long long sum = 0;
  for (const auto& [name, ms] : timing.items()) {
    if (name == "ttft" || name == "decode_per_token") continue;
    names.push_back(name);
    CHECK(ms.get<double>() >= 0);
    sum += std::llround(ms.get<double>() * 1e6);
  }
  CHECK(names == stages);
  CHECK(sum == std::llround(timing["ttft"].get<double>() * 1e6));
}
const std::vector<std::string> all_stages{"template", "tokenize", "queue", "prefill", "sample", "send"};

}  // namespace

TEST_CASE("W6: a stream is a role, the content, a finish, usage where it is asked, and [DONE]") {
  Hosted hosted(answers(ids_of({"HI", "HX"})));
  for (const bool usage : {false, true}) {
    CAPTURE(usage);
    Json more{{"stream", true}};
    if (usage) more["stream_options"] = {{"include_usage", true}};
    const Reply reply = hosted.chat(more);
    CHECK(reply.status == 200);
    CHECK(reply.headers.at("content-type") == "text/event-stream");
    CHECK(reply.headers.at("server-timing").find("prefill;dur=") != std::string::npos);
    const auto events = reply.events();
    REQUIRE(events.size() == (usage ? 6 : 5));
    CHECK(events[0]["choices"][0]["delta"] == Json{{"role", "assistant"}, {"content", ""}});
    CHECK(events[1]["choices"][0]["delta"] == Json{{"content", "HI"}});
    CHECK(events[2]["choices"][0]["delta"] == Json{{"content", "HX"}});
    CHECK(events[3]["choices"][0]["delta"] == Json::object());
    CHECK(events[3]["choices"][0]["finish_reason"] == "stop");
    for (int i : {0, 1, 2}) CHECK(events[static_cast<std::size_t>(i)]["choices"][0]["finish_reason"].is_null());
    CHECK(events.back() == "[DONE]");
    const Json& last = events[events.size() - 2];
    check_timing(last["timing"], all_stages);
    if (usage) {
      CHECK(last["choices"] == Json::array());
      CHECK(last["usage"]["prompt_tokens"] == 7);
      CHECK(last["usage"]["completion_tokens"] == 3);
      CHECK(last["usage"]["total_tokens"] == 10);
      CHECK(last["usage"]["prompt_tokens_details"]["cached_tokens"] == 0);
      CHECK(events[1]["usage"].is_null());
    }
    for (const Json& event : events)
      if (event.is_object()) {
        CHECK(event["object"] == "chat.completion.chunk");
        CHECK(event["id"] == events[0]["id"]);
        CHECK(event["system_fingerprint"] == "0123456789abcdef");
        CHECK(event["model"] == "toy");
        CHECK(event.contains("usage") == usage);
      }
  }
}

TEST_CASE("A whole answer says the same as a streamed one") {
  Hosted hosted(answers(ids_of({"HI", " ", "a"})));
  const Reply whole = hosted.chat(Json::object());
  CHECK(whole.status == 200);
  const Json json = whole.json();
  CHECK(json["object"] == "chat.completion");
  CHECK(json["choices"][0]["message"] == Json{{"role", "assistant"}, {"content", "HI a"}, {"refusal", nullptr}});
  CHECK(json["choices"][0]["finish_reason"] == "stop");
  CHECK(json["usage"]["completion_tokens"] == 4);
  check_timing(json["timing"], all_stages);
  CHECK(joined(hosted.chat({{"stream", true}})) == "HI a");
  // the log has a line for each, with the id that the client was told
  REQUIRE(hosted.eventually([&] { return hosted.logged("request").size() == 2; }));
  CHECK(hosted.logged("request")[0]["id"] == whole.headers.at("x-request-id"));
  check_timing(hosted.logged("request")[1]["timing"], all_stages);
}

TEST_CASE("E1: every id that ends an answer ends it, and is counted but not shown") {
  Hosted hosted(answers(ids_of({"a", "b", "<end>", "c"})));
  const Json json = hosted.chat(Json::object()).json();
  CHECK(json["choices"][0]["message"]["content"] == "ab");
  CHECK(json["choices"][0]["finish_reason"] == "stop");
  CHECK(json["usage"]["completion_tokens"] == 3);
  CHECK(joined(hosted.chat({{"stream", true}})) == "ab");
}

TEST_CASE("E4: the finish reason says why, and completion_tokens counts every sampled id") {
  Hosted hosted(answers(ids_of({"a"})));
  const auto reason = [&](int most) { return hosted.chat({{"max_tokens", most}}).json(); };
  CHECK(reason(1)["choices"][0]["finish_reason"] == "length");
  CHECK(reason(2)["choices"][0]["finish_reason"] == "stop");
  CHECK(reason(3)["choices"][0]["finish_reason"] == "stop");
  CHECK(reason(1)["usage"]["completion_tokens"] == 1);
  CHECK(reason(3)["usage"]["completion_tokens"] == 2);
  const Json stopped = hosted.chat({{"max_completion_tokens", 1}, {"stop", "a"}}).json();  // completed by the last token that is allowed
  CHECK(stopped["choices"][0]["finish_reason"] == "stop");
  CHECK(stopped["choices"][0]["message"]["content"] == "");
}

TEST_CASE("E2: a stop string over token borders is cut, with and without streaming") {
  struct Row { std::vector<std::string> pieces; Json stop; std::string text; };
  for (const Row& row : {Row{{"DEF", "G", "HI", "J"}, "DEFGHIJ", ""}, Row{{"DEF", "G", "HX"}, "DEFGHIJ", "DEFGHX"}, Row{{"a", "a", "a", "b"}, {"aab"}, "a"},
                         Row{{"b\n\nUs", "er:"}, {"never", "\n\nUser:"}, "b"}}) {
    CAPTURE(row.text);
    Hosted hosted(answers(ids_of(row.pieces)));
    CHECK(Hosted::text_of(hosted.chat({{"stop", row.stop}})) == row.text);
    CHECK(joined(hosted.chat({{"stop", row.stop}, {"stream", true}})) == row.text);
  }
}

TEST_CASE("K7: half a character is never streamed, and a first token without text counts until there is some") {
  Hosted hosted(answers(ids_of({"\xF0", "\x9F", "\x98", "\x80", "!"})));
  const auto events = hosted.chat({{"stream", true}}).events();
  REQUIRE(events.size() == 5);  // role, the character, !, finish, [DONE]
  CHECK(events[1]["choices"][0]["delta"]["content"] == "\xF0\x9F\x98\x80");
  check_timing(events[3]["timing"], all_stages);
  Hosted cut(answers(ids_of({"\xF0", "\x9F"})));
  CHECK(joined(cut.chat({{"stream", true}})) == "\xEF\xBF\xBD");
}

TEST_CASE("W7: log-probabilities are the model's, before temperature and top-p") {
  const auto rule = [](std::span<const int>) {
    std::vector<float> logits(static_cast<std::size_t>(toy_vocab), -(std::numeric_limits<float>::infinity)());
    for (int i = 0; i < 4; ++i) logits[static_cast<std::size_t>(id_of("a") + i)] = std::log(static_cast<float>(4 - i));
    return logits;
  };
  Hosted hosted(rule);
  const Json options{{"max_tokens", 1}, {"temperature", 0.5}, {"top_p", 0.4}, {"logprobs", true}, {"top_logprobs", 3}};
  const Json content = hosted.chat(options).json()["choices"][0]["logprobs"]["content"];
  REQUIRE(content.size() == 1);
  CHECK(content[0]["token"] == "a");
  CHECK(content[0]["bytes"] == Json::array({'a'}));
  CHECK(content[0]["logprob"].get<double>() == Approx(-0.916291).epsilon(1e-6));
  REQUIRE(content[0]["top_logprobs"].size() == 3);
  CHECK(content[0]["top_logprobs"][1]["logprob"].get<double>() == Approx(-1.203973).epsilon(1e-6));
  CHECK(content[0]["top_logprobs"][2]["logprob"].get<double>() == Approx(-1.609438).epsilon(1e-6));
  Json streamed = options;
  streamed["stream"] = true;
  streamed["top_logprobs"] = 20;  // 16 of them are impossible: left out, no -inf in JSON
  const auto events = hosted.chat(streamed).events();
  CHECK(events[1]["choices"][0]["logprobs"]["content"][0]["top_logprobs"].size() == 4);

  const Json plain = Client(hosted.port()).post("/v1/completions", Json{{"prompt", "x"}, {"max_tokens", 2}, {"logprobs", 2}}).json();
  CHECK(plain["object"] == "text_completion");
  CHECK(plain["choices"][0]["text"] == "aa");
  CHECK(plain["choices"][0]["logprobs"]["tokens"] == Json::array({"a", "a"}));
  CHECK(plain["choices"][0]["logprobs"]["text_offset"] == Json::array({0, 1}));
  CHECK(plain["choices"][0]["logprobs"]["top_logprobs"][0].size() == 2);
  check_timing(plain["timing"], {"tokenize", "queue", "prefill", "sample", "send"});
}

TEST_CASE("n answers to several prompts come with their numbers, equal seeds give equal answers") {
  Hosted hosted(endless());
  const Json request{{"prompt", Json::array({"x", "yy"})}, {"n", 3}, {"max_tokens", 8}, {"temperature", 1}, {"seed", 7}};
  const Json whole = Client(hosted.port()).post("/v1/completions", request).json();
  REQUIRE(whole["choices"].size() == 6);
  CHECK(whole["usage"]["prompt_tokens"] == 3);
  CHECK(whole["usage"]["completion_tokens"] == 48);
  for (std::size_t i = 0; i < 6; ++i) CHECK(whole["choices"][i]["index"] == i);
  CHECK(whole["choices"][0]["text"] != whole["choices"][1]["text"]);
  Json streamed = request;
  streamed["stream"] = true;
  std::vector<std::string> texts(6);
  const auto events = Client(hosted.port()).post("/v1/completions", streamed).events();
  for (const Json& event : events)
    if (event.is_object()) texts.at(event["choices"][0]["index"].get<std::size_t>()) += event["choices"][0]["text"].get<std::string>();
  for (std::size_t i = 0; i < 6; ++i) CHECK(texts[i] == whole["choices"][i]["text"]);
  const Json alone = Client(hosted.port()).post("/v1/completions", Json{{"prompt", "yy"}, {"max_tokens", 8}, {"temperature", 1}, {"seed", 7}}).json();
  CHECK(alone["choices"][0]["text"] == whole["choices"][3]["text"]);
}

TEST_CASE("V4, V5: the same prompt again is the same answer, and what was cached is said") {
  Hosted hosted(endless());
  const std::string content(60, 'x');  // with the two markers and the role's: 62 tokens, three whole blocks
  const Json options{{"max_tokens", 12}, {"logprobs", true}};
  const Json first = hosted.chat(options, content).json();
  hosted.chat(options, std::string(70, 'y'));
  const Json second = hosted.chat(options, content).json();
  CHECK(second["choices"] == first["choices"]);
  const int cached = second["usage"]["prompt_tokens_details"]["cached_tokens"].get<int>();
  CHECK(second["usage"]["prompt_tokens"] == 62);
  CHECK(cached == 48);
  // a prompt of whole blocks: its last token is computed all the same
  const std::string blocks(46, 'z');
  const Json cold = hosted.chat(options, blocks).json(), warm = hosted.chat(options, blocks).json();
  CHECK(warm["choices"] == cold["choices"]);
  CHECK(warm["usage"]["prompt_tokens"] == 48);
  CHECK(warm["usage"]["prompt_tokens_details"]["cached_tokens"].get<int>() <= 47);
}

TEST_CASE("V1: an answer that would not fit the context ends with it, a prompt that does not fit is refused") {
  Hosted hosted(endless(), {}, 16);
  const Json json = hosted.chat({{"max_tokens", 1000000000000}}, "hello").json();  // 7 tokens
  CHECK(json["choices"][0]["finish_reason"] == "length");
  CHECK(json["usage"]["completion_tokens"] == 9);
  CHECK(hosted.chat(Json::object(), std::string(14, 'x')).json()["usage"]["completion_tokens"] == 0);
  const Reply refused = hosted.chat(Json::object(), std::string(15, 'x'));
  CHECK(refused.status == 400);
  CHECK(refused.error() == "the prompt has 17 tokens, the context holds 16");
}
