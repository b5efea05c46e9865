// Templates that want to loop for ever, to eat memory or the stack: each is refused with a sentence, at once.
#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <diecast/chat/chat_template.hpp>

using namespace diecast;

namespace {

std::string render(const std::string& source, const RenderLimits& limits = {}) {
  TemplateContext context;
  const std::vector<Message> messages{{"user", "a"}};
  context.messages = chat::messages_value(messages);
  context.limits = limits;
  return ChatTemplate(source).render(context).text;
}

std::string times(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

}  // namespace

TEST_CASE("a hostile template is refused, whatever it asks for") {
  const std::string ns = "{% set ns = namespace(x='ab') %}{% for i in range(1000) %}";
  const std::vector<std::string> templates{
      "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
      "{{ range(1000000000) }}",
      "{{ range(-9223372036854775807, 9223372036854775807) }}",
      "{{ 'a' * 1000000000000 }}",
      "{{ [1] * 1000000000000 }}",
      "{{ 2 ** 1000 }}{{ 10 ** 10 ** 10 }}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
      "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
      ns + "{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
      ns + "{% set ns.x = [ns.x] %}{% endfor %}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x == ns.x | list }}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x | tojson }}",
      "{{ '%1000000000d' % 1 }}",
      "{{ '%.1000000000f' % 1 }}",
      "{{ '%99999999999d' % 1 }}",
      "{{ '{:1000000000}'.format(1) }}",
      "{{ '{:1000000000}'.format('a') }}",
      "{{ 'a'.center(10000000000) }}",
      "{{ 'a'.ljust(10000000000) }}",
      "{{ 'a'.zfill(10000000000) }}",
      "{{ 'a' | center(10000000000) }}",
      "{{ '\\t'.expandtabs(10000000000) }}",
      "{{ 'a\\nb' | indent(10000000000) }}",
      "{{ [1] | tojson(indent=10000000000) }}",
      "{{ [1] | batch(10000000000, 'a') | list }}",
      "{{ [1] | slice(10000000000) | list }}",
      "{{ ('a' * 100000).replace('', 'b' * 100000) }}",
      "{{ ('a' * 100000) | list | map('replace', '', 'b' * 100000) | list }}",
      "{{ dict(range(100000) | batch(2)) }}",
      "{{ range(100000) | unique | list }}",
      "{{ " + times("1+", 5000) + "1 }}",
      "{{ x" + times(".a", 5000) + " }}",
      "{{ 'a'" + times("|trim", 5000) + " }}"};
  for (const std::string& source : templates) {
    CAPTURE(source.substr(0, 120));
    RenderLimits limits;
    limits.steps = 500'000;  // as the default, but tests are built without optimisation
    limits.bytes = 16 << 20;
    const auto start = std::chrono::steady_clock::now();
    CHECK_THROWS_AS(render(source, limits), Error);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  }
}

TEST_CASE("deep nesting in the text of a template is refused by the parser") {
  for (const std::string& source :
       {"{{ " + times("(", 100000), "{{ " + times("[", 100000), "{{ " + times("{1:", 100000), "{{ " + times("not ", 100000) + "1 }}",
        "{{ " + times("-", 100000) + "1 }}", times("{% if 1 %}", 100000), times("{% for x in y %}", 100000),
        "{{ " + times("1 if 1 else ", 100000) + "1 }}", "{% set " + times("(", 100000)}) {
    CAPTURE(source.substr(0, 60));
    CHECK_THROWS_AS(ChatTemplate(source), Error);
  }
}

TEST_CASE("long but flat templates are fine") {
  CHECK(render("{% if 0 %}" + times("{% elif 0 %}", 5000) + "{% else %}x{% endif %}") == "x");
  CHECK(render("{{ " + times("'a' ", 20000) + "| length }}") == "20000");
  CHECK(render("{{ 'a'" + times(" ~ 'a'", 5000) + " }}").size() == 5001);
  CHECK(render(times("{{ 1 }}", 20000)).size() == 20000);
}

TEST_CASE("limits are told with their numbers") {
  RenderLimits limits;
  limits.output = 10;
  CHECK_THROWS_WITH(render("{{ 'a' * 11 }}", limits), Catch::Contains("more than 10 bytes"));
  limits = {};
  limits.steps = 100;
  CHECK_THROWS_WITH(render("{% for i in range(200) %}{% endfor %}", limits),
                    Catch::Contains("line 1, column") && Catch::Contains("100 steps"));
}

TEST_CASE("a namespace that holds itself leaks nothing and can be printed") {
  CHECK(render("{% set ns = namespace() %}{% set ns.x = ns %}{% set ns.y = [ns] %}{% macro m() %}{% endmacro %}{% set ns.m = m %}{{ "
               "ns.x.x.y | length }}") == "1");
}
