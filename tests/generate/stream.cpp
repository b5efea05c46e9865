// Answers as ranges, conversations, and sequences in files.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <diecast/generate/conversation.hpp>

#include "scripted_company.hpp"

using namespace diecast;
using namespace diecast::testing;

namespace {

struct Bench {
  std::shared_ptr<scripted::Toy> tokenizer = std::make_shared<scripted::Toy>(letters);
  std::shared_ptr<scripted::Model> model;
  Session session;
  explicit Bench(scripted::Rule rule, SessionOptions options = {}, int context = 256)
      : model(std::make_shared<scripted::Model>(vocab, context, std::move(rule))), session(model, tokenizer, {eos, end_id}, options) {}
};

// A template of a few letters: <end> begins a message, its role is its first letter's.
Engine toy_engine(scripted::Rule rule, std::optional<std::string> chat_template, int context = 64, GenerationDefaults generation = {}) {
  Model model;
  model.name = "toy";
  model.chat_template = std::move(chat_template);
  model.generation = std::move(generation);
  model.generation.eos = {eos, end_id};
  return Engine(std::move(model), std::make_shared<scripted::Model>(vocab, context, std::move(rule)), std::make_shared<scripted::Toy>(letters));
}
const std::string turns = "{% for m in messages %}{% if m.role == 'system' %}G{% elif m.role == 'user' %}HI{% else %}J{% endif %}{{ m.content }}{% endfor %}J";

struct File {
  std::string path = (std::filesystem::temp_directory_path() / ("diecast-sequence-" + std::to_string(::getpid()))).string();
  ~File() { std::filesystem::remove(path); }
  std::string bytes() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
};

}  // namespace

TEST_CASE("An answer is a range of pieces that are computed when the loop comes to them") {
  const Request request{.prompt = prompt_of(20, 1), .max_tokens = 12, .logprobs = 1};
  const Answer expected = Bench(endless()).session.generate(request);
  for (const int draft : {0, 3}) {
    Bench made(endless(), {.draft = draft});
    Session::Stream stream = made.session.stream(request);
    std::string joined;
    std::vector<int> ids;
    for (const auto piece : stream) {
      joined += piece.text;
      ids.push_back(piece.id);
      if (draft == 0) CHECK(made.model->forwards == static_cast<int>(ids.size()));
      REQUIRE(piece.logprobs);
    }
    CHECK(ids == expected.ids);
    CHECK(joined == expected.text);
    CHECK(stream.answer().ids == expected.ids);
    CHECK(stream.answer().finish_reason == FinishReason::length);
    CHECK(stream.begin() == stream.end());  // it is over
    STATIC_REQUIRE(std::input_iterator<Session::Stream::iterator>);
  }
}

TEST_CASE("A loop that is left ends the answer; the session goes on") {
  Bench made(endless());
  const Request request{.prompt = prompt_of(20, 1), .max_tokens = 12};
  const Answer expected = made.session.generate(request);
  made.session.reset();
  {
    Session::Stream stream = made.session.stream(request);
    int seen = 0;
    for (const Piece& piece : stream)
      if (piece.index == 2) break;
      else ++seen;
    CHECK(seen == 2);
    CHECK(stream.answer().finish_reason == FinishReason::cancelled);
    CHECK(stream.answer().ids == std::vector<int>(expected.ids.begin(), expected.ids.begin() + 3));
  }
  CHECK(made.session.generate(request).ids == expected.ids);

  Session::Stream old = made.session.stream(request);
  auto at = old.begin();
  CHECK(made.session.generate(request).ids == expected.ids);
  CHECK_THROWS_WITH(++at, "another answer was begun in this session; this one is over");
  CHECK(old.answer().ids.size() == 1);

  std::stop_source source;
  int seen = 0;
  for ([[maybe_unused]] const Piece& piece : made.session.stream(request, source.get_token()))
    if (++seen == 4) source.request_stop();
  CHECK(seen == 4);
}

TEST_CASE("Messages become a range of pieces: template, prefill and all") {
  const Engine engine = toy_engine(scripted::says(vocab, 4, {a, b, eos}), turns);
  Session session = engine.session();
  const std::vector<Message> messages{{"system", "c"}, {"user", ""}};
  std::string text;
  Trace trace;
  for (const auto piece : session.generate(messages, {.max_tokens = 9}, {}, &trace)) text += piece.text;
  CHECK(text == "ab");
  std::vector<std::string> names;
  for (const Trace::Span& span : trace.spans())
    if (span.stage) names.push_back(span.name);
  CHECK(std::vector<std::string>(names.begin(), names.begin() + 5) == std::vector<std::string>{"template", "tokenize", "prefill", "sample", "send"});
  CHECK_THROWS_WITH(session.generate(std::vector<Message>{}), Catch::Contains("the list of messages is empty"));
  Bench without(endless());
  CHECK_THROWS_WITH(without.session.generate(messages), "this session knows no chat template: an engine's session does");
}

TEST_CASE("A conversation keeps its messages, its system prompt and its stop strings") {
  // after every prompt: a, b, <eos>; the prompt's length decides nothing
  const scripted::Rule rule = [](std::span<const int> ids) {
    const int last = ids.back();
    return scripted::one_hot(vocab, last == 9 ? a : last == a ? b : last == b ? c : eos);
  };
  const Engine engine = toy_engine(rule, turns);
  Conversation conversation(engine, {.system = "d", .stop = {"cc", "bc"}});
  std::string text;
  for (const Piece& piece : conversation.say("a")) text += piece.text;
  CHECK(text == "a");
  CHECK(conversation.ask("b").text == "a");
  const auto said = [&] {
    std::string all;
    for (const Message& message : conversation.messages()) all += message.role.substr(0, 1) + ":" + message.content + " ";
    return all;
  };
  CHECK(said() == "s:d u:a a:a u:b a:a ");
  CHECK(conversation.ask("c").usage.cached_tokens > 0);
  for (const Piece& piece : conversation.say("d"))
    if (piece.index == 0) break;
  CHECK(said() == "s:d u:a a:a u:b a:a u:c a:a u:d a:a ");

  std::string much;
  for (int i = 0; i < 64; ++i) much += "a";
  CHECK_THROWS_WITH(conversation.say(much), Catch::Contains("the context holds 64"));
  CHECK(said() == "s:d u:a a:a u:b a:a u:c a:a u:d a:a ");  // as it was
  conversation.restart();
  CHECK(said() == "s:d ");
  CHECK_THROWS_WITH(conversation.say(much.substr(0, 60)), "the prompt has 64 tokens, the context holds 64");  // it fits, its answer does not
  CHECK_THROWS_AS(conversation.say(much), PromptTooLong);
  CHECK(conversation.ask(much.substr(0, 59)).ids.size() == 1);
  conversation.restart({{"user", "a"}, {"assistant", "b"}});
  CHECK(conversation.ask("b").prompt_ids.size() == 7);

  CHECK_THROWS_WITH(Conversation(toy_engine(rule, {})), "toy has no chat template: it is a base model, which continues plain text");
  GenerationDefaults defaults;
  defaults.max_new_tokens = 1;
  Conversation brief(toy_engine(rule, turns, 64, defaults));
  CHECK(brief.ask("a").ids == std::vector<int>{a});
}

TEST_CASE("A saved sequence goes on where it was, in another session") {
  const File file;
  for (const int length : {1, 15, 16, 17, 40}) {
    CAPTURE(length);
    Bench first(endless());
    const Answer one = first.session.generate({.prompt = prompt_of(length, 1), .max_tokens = 20});
    first.session.save(file.path, "engine one");
    CHECK_FALSE(std::filesystem::exists(file.path + ".part"));
    std::vector<int> next = one.prompt_ids;
    next.insert(next.end(), one.ids.begin(), one.ids.end());
    next.push_back(d);
    const Request request{.prompt = next, .max_tokens = 10, .logprobs = 1};
    const Answer expected = first.session.generate(request);

    Bench second(endless());
    second.session.generate({.prompt = prompt_of(9, 7), .max_tokens = 3});  // it has a past of its own
    second.session.load(file.path, "engine one");
    CHECK(second.session.cached_ids().size() == static_cast<std::size_t>(length + 19));
    const Answer loaded = second.session.generate(request);
    CHECK(loaded.ids == expected.ids);
    CHECK(loaded.usage.cached_tokens == expected.usage.cached_tokens);
    for (std::size_t i = 0; i < expected.logprobs.size(); ++i) CHECK(loaded.logprobs[i].logprob == expected.logprobs[i].logprob);
  }
  Bench empty(endless());  // nothing is something, too
  empty.session.save(file.path, "engine one");
  empty.session.load(file.path, "engine one");
  CHECK(empty.session.cached_ids().empty());
}

TEST_CASE("A sequence of another engine, cache or size is refused with a sentence, and so is a damaged one") {
  const File file;
  Bench made(endless());
  made.session.generate({.prompt = prompt_of(40, 1), .max_tokens = 5});
  made.session.save(file.path, "engine one");
  CHECK_THROWS_WITH(made.session.load(file.path, "engine two"), Catch::EndsWith("the sequence was saved by the engine \"engine one\", this one is \"engine two\""));
  CHECK(made.session.cached_ids().empty());
  CHECK_THROWS_WITH(Bench(endless(), {.context = 43}).session.load(file.path, "engine one"), Catch::EndsWith("the sequence has 44 tokens, the context holds 43"));
  CHECK_THROWS_AS(made.session.load(file.path + ".absent", "engine one"), Error);
  CHECK_THROWS_AS(made.session.save("/nowhere/at/all", "engine one"), Error);
  made.model->layout = "another";
  CHECK_THROWS_WITH(made.session.load(file.path, "engine one"), Catch::EndsWith("the sequence was saved with the cache \"scripted\", this one has \"another\""));
  made.model->layout = "scripted";
  made.model->copies_blocks = false;
  CHECK_THROWS_WITH(made.session.load(file.path, "engine one"), Catch::EndsWith("the sequence has 64 bytes a block, this cache 0"));
  CHECK_THROWS_WITH(made.session.save(file.path, "engine one"), "this backend cannot save a sequence");
  made.model->copies_blocks = true;

  const std::string whole = file.bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {  // F5: every prefix
    file.write(whole.substr(0, size));
    CHECK_THROWS_AS(made.session.load(file.path, "engine one"), Error);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {  // every byte
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    file.write(damaged);
    CHECK_THROWS_AS(made.session.load(file.path, "engine one"), Error);
  }
  file.write(whole + "x");
  CHECK_THROWS_AS(made.session.load(file.path, "engine one"), Error);
  file.write(whole);
  made.session.load(file.path, "engine one");
  CHECK(made.session.cached_ids().size() == 44);
}
