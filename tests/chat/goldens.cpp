// Rendered by jinja2 3.1.6, set up as HF transformers does: small templates of our own for every feature
// (tests/oracle/make_template_goldens.py), and, where the collection lies beside the project, 24 real templates over 12 conversations.
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include <diecast/chat/from_json.hpp>

using namespace diecast;

namespace {

std::tm clock_of_the_goldens() {
  std::tm time{};
  time.tm_year = 126;
  time.tm_mday = 2;
  time.tm_hour = 3;
  time.tm_min = 4;
  time.tm_sec = 5;
  time.tm_wday = 5;
  time.tm_yday = 1;
  return time;
}

chat::Json read(const std::string& path) {
  std::ifstream file(path);
  return file ? chat::Json::parse(file) : chat::Json();
}

// The row's text or error; true as the error stands for one that Python words.
void check_row(const chat::Json& row, const std::string& source, const chat::Json& context) {
  std::string rendered;
  std::string refused;
  bool own_words = false;
  try {
    rendered = render_json(ChatTemplate(source), context.dump(), clock_of_the_goldens).text;
  } catch (const TemplateRefusal& error) {
    refused = error.what();
    own_words = true;
  } catch (const Error& error) {
    refused = error.what();
  }
  if (row.contains("out")) {
    CHECK(refused == "");
    CHECK(rendered == row["out"].get<std::string>());
  } else if (row["error"].is_string()) {
    CHECK(own_words);
    CHECK(refused == row["error"].get<std::string>());
  } else {
    CHECK(refused != "");
  }
}

// Every string that is a value becomes this: a letter that no template contains, and a marker.
const std::string sentinel = "\u0298";

chat::Json with_sentinels(const chat::Json& json, const std::string& key = "") {
  if (json.is_string() && key != "role" && key != "bos_token" && key != "eos_token") return sentinel + "<|im_end|>" + sentinel;
  if (!json.is_structured()) return json;
  chat::Json result = json.is_array() ? chat::Json::array() : chat::Json::object();
  if (json.is_array()) {
    for (const chat::Json& item : json) result.push_back(with_sentinels(item));
  } else {
    for (const auto& [name, item] : json.items()) result[name] = with_sentinels(item, name);
  }
  return result;
}

// How often the sentinel stands in the prompt, and how often among typed bytes.
void check_sentinels(const std::string& source, const chat::Json& context) {
  PromptText prompt;
  try {
    prompt = render_json(ChatTemplate(source), context.dump(), clock_of_the_goldens);
  } catch (const Error&) {
    return;
  }
  std::size_t end = 0;
  std::string outside;
  for (const Range& range : prompt.typed) {
    REQUIRE(range.begin < range.end);
    REQUIRE(range.end <= prompt.text.size());
    REQUIRE((range.begin > end || (end == 0 && range.begin == 0)));
    outside += prompt.text.substr(end, range.begin - end) + "|";
    end = range.end;
  }
  outside += prompt.text.substr(end);
  for (const char byte : sentinel) CHECK(outside.find(byte) == std::string::npos);
}

}  // namespace

TEST_CASE("every feature of the template language gives what jinja2 gives") {
  const chat::Json goldens = read(DIECAST_SOURCE_DIR "/tests/data/chat/goldens.json");
  REQUIRE(goldens["rows"].size() > 300);
  for (const chat::Json& row : goldens["rows"]) {
    const std::string source = row["template"];
    CAPTURE(row["group"].get<std::string>(), source);
    check_row(row, source, goldens["context"]);
  }
}

TEST_CASE("T2: typed text never leaves its marks, whatever a template does with it") {
  const chat::Json goldens = read(DIECAST_SOURCE_DIR "/tests/data/chat/goldens.json");
  const chat::Json context = with_sentinels(goldens["context"]);
  for (const chat::Json& row : goldens["rows"]) {
    const std::string source = row["template"];
    if (source.find("\xCA") != std::string::npos) continue;  // a byte of the sentinel in the template itself
    CAPTURE(source);
    check_sentinels(source, context);
  }
}

TEST_CASE("24 real templates over 12 conversations give what HF transformers gives") {
  const chat::Json collection = read(DIECAST_SOURCE_DIR "/../shared/templates/rendered.json");
  if (collection.is_null()) {
    WARN("the collection of real templates is not here: skipped");
    return;
  }
  std::size_t rows = 0;
  for (const auto& [name, entry] : collection["templates"].items()) {
    const std::string source = entry["source"];
    for (const auto& [conversation, row] : entry["rows"].items()) {
      CAPTURE(name, conversation);
      chat::Json context = collection["conversations"][conversation];
      context["bos_token"] = collection["bos"];
      context["eos_token"] = collection["eos"];
      check_row(row, source, context);
      check_sentinels(source, with_sentinels(context));
      ++rows;
    }
  }
  CHECK(rows == 288);
}
