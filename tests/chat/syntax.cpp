// A broken template: its line and column, at run time in a sentence and at compile time as constants.
// Right values: counted by hand; jinja2 3.1.6 refuses each of them too.
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include <diecast/chat/chat_template.hpp>

using namespace diecast;
using chat::SyntaxError;

namespace {

constexpr auto parsed(std::string_view source) { return chat::parse_template<256>(source); }

struct Config {
  static constexpr char chat_template[] =
      "{%- for m in messages -%}\n  {{ m.content | trim }}{% if not loop.last %}, {% endif %}\n{%- endfor %}";
};

}  // namespace

TEST_CASE("the compiler finds the place of a syntax error") {
  constexpr auto unknown = parsed("a\nb {% foo %}");
  STATIC_REQUIRE(unknown.error == SyntaxError::unknown_tag);
  STATIC_REQUIRE(unknown.place.line == 2);
  STATIC_REQUIRE(unknown.place.column == 6);
  constexpr auto open = parsed("{{ (1 + 2 }}");
  STATIC_REQUIRE(open.error == SyntaxError::unbalanced_bracket);
  STATIC_REQUIRE(open.place.column == 11);
  STATIC_REQUIRE(parsed("{% if x %}").error == SyntaxError::unexpected_end);
  STATIC_REQUIRE(parsed("{{ 'a }}").error == SyntaxError::unclosed_string);
  STATIC_REQUIRE(parsed("{{ a is b is c }}").error == SyntaxError::chained_test);
  STATIC_REQUIRE(parsed("{% break %}").error == SyntaxError::loop_control_outside);
  STATIC_REQUIRE(parsed("{{ a }}").error == SyntaxError::none);
  STATIC_REQUIRE(chat::chat_template_is_well_formed<SyntaxError::none, 1, 1>::value);
}

TEST_CASE("the same errors are sentences at run time") {
  CHECK_THROWS_WITH(ChatTemplate("a\r\nb {% foo %}"),
                    "the chat template is broken at line 2, column 6: there is no such tag (near \"foo %}\")");
  CHECK_THROWS_WITH(ChatTemplate("{{ 'a\\x4' }}"), Catch::Contains("line 1, column 6") && Catch::Contains("escape"));
  CHECK_THROWS_WITH(ChatTemplate("{% if 1 %}\n"), Catch::Contains("line 1, column 11"));
}

TEST_CASE("errors while rendering name line and column") {
  const std::vector<Message> messages{{"user", "a"}};
  CHECK_THROWS_WITH(ChatTemplate("x\n{{ 1 +\n   messages }}").render(messages, true, "", ""),
                    "the chat template fails at line 2, column 6: unsupported operand type(s) for +: 'int' and 'list'");
  CHECK_THROWS_WITH(ChatTemplate("{{ missing.x }}").render(messages, true, "", ""),
                    "the chat template fails at line 1, column 12: 'missing' is undefined");
}

TEST_CASE("a template of a config is parsed by the compiler and renders as at run time") {
  const std::vector<Message> messages{{"user", " a "}, {"assistant", "b"}};
  STATIC_REQUIRE(chat::CompiledTemplate<Config::chat_template>::tree().size > 10);
  CHECK(ChatTemplate::of<Config::chat_template>().render(messages, true, "", "").text == "a, b");
  CHECK(ChatTemplate(Config::chat_template).render(messages, true, "", "").text == "a, b");
  // Copies share what they need.
  const ChatTemplate copy = ChatTemplate(std::string(Config::chat_template));
  CHECK(ChatTemplate(copy).render(messages, true, "", "").text == "a, b");
}
