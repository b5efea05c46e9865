// Which bytes of a prompt were typed, through each operation of the language; and the rows of the case list about templates.
// Right values: by hand. In the expectations, [brackets] stand around what was typed.
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <diecast/chat/chat_template.hpp>

using namespace diecast;
using chat::Value;

namespace {

std::string marked(const PromptText& prompt) {
  std::string result;
  std::size_t end = 0;
  for (const Range& range : prompt.typed) {
    result += prompt.text.substr(end, range.begin - end) + "[" + prompt.text.substr(range.begin, range.end - range.begin) + "]";
    end = range.end;
  }
  return result + prompt.text.substr(end);
}

// `u` was typed, `l` is a list of typed strings, `d` a dict of them with typed keys.
std::string marked(const std::string& source, const std::string& typed = "a-B c") {
  TemplateContext context;
  const std::vector<Message> messages{{"user", typed}};
  context.messages = chat::messages_value(messages);
  context.bos_token = "<s>";
  context.others = {{"u", Value::typed(typed)},
                    {"l", Value::list({Value::typed("x"), Value::typed("y")})},
                    {"d", Value::dict({{Value::typed("k"), Value::typed("v\n")}, {Value::typed("n"), Value(3)}})}};
  return marked(ChatTemplate(source).render(context));
}

}  // namespace

TEST_CASE("T2: each operation carries the typed bytes along") {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"<{{ u }}>", "<[a-B c]>"},
      {"{{ '<' + u + '>' }}", "<[a-B c]>"},
      {"{{ '<' ~ u ~ 1 ~ '>' }}", "<[a-B c]1>"},
      {"{{ u[1:3] }}|{{ u[0] }}|{{ ('<' + u)[:2] }}|{{ u[::-1] }}", "[-B]|[a]|<[a]|[c B-a]"},
      {"{{ u | upper }}{{ u.lower() }}{{ u | title }}{{ u | capitalize }}", "[A-B Ca-b cA-B CA-b c]"},
      {"{{ ('  ' + u + '  ') | trim }}.{{ u.strip('ac') }}", "[a-B c].[-B ]"},
      {"{{ u.replace('B', '<|x|>') }}", "[a-]<|x|>[ c]"},
      {"{{ '<x>'.replace('x', u) }}", "<[a-B c]>"},
      {"{{ u | replace('-', '') }}", "[aB c]"},
      {"{{ u.split('-') | join('<>') }}", "[a]<>[B c]"},
      {"{{ l | join(', ') }}.{{ u.join(['1', '2']) }}", "[x], [y].1[a-B c]2"},
      {"{{ '%s|%5s|%-3s.' % (u, 'q', 'r') }}", "[a-B c]|    q|r  ."},
      {"{{ u % () }}{{ '{}:{:>7}.'.format(u, u) }}", "[a-B ca-B c]:  [a-B c]."},
      {"{{ u * 2 }}", "[a-B ca-B c]"},
      {"{{ u | tojson }}", "\"[a-B c]\""},
      {"{{ d | tojson }}", "{\"[k]\": \"[v\\n]\", \"[n]\": 3}"},
      {"{{ d }}{{ l }}", "{'[k]': '[v\\n]', '[n]': 3}['[x]', '[y]']"},
      {"{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "[k]=[v\n];[n]=3;"},
      {"{% for c in u %}{{ c }}.{% endfor %}", "[a].[-].[B].[ ].[c]."},
      {"{% set x %}<{{ u }}>{% endset %}{{ x | upper }}", "<[A-B C]>"},
      {"{% macro m(a) %}<{{ a }}{{ kwargs }}>{% endmacro %}{{ m(u, **d) }}", "<[a-B c]{'[k]': '[v\\n]', '[n]': 3}>"},
      {"{{ dict(**d) | list | join }}", "[kn]"},
      {"{% set ns = namespace(x='') %}{% for y in l %}{% set ns.x = ns.x + '<' + y %}{% endfor %}{{ ns.x }}", "<[x]<[y]"},
      {"{{ u | indent(2, true) }}|{{ (u + '\\n' + u) | indent(1) }}", "  [a-B c]|[a-B c]\n [a-B c]"},
      {"{{ u | center(9) }}|{{ 'q'.center(3, u[0]) }}|{{ u | truncate(4, true, '~', 0) }}", "  [a-B c]  |[a]q[a]|[a-B]~"},
      {"{{ u | urlencode }}|{{ '<' | e }}{{ u | e }}", "[a-B%20c]|&lt;[a-B c]"},
      {"{{ '%c' % 60 }}{{ '{:c}'.format(62) }}", "[<>]"},
      {"{{ l | map('upper') | join }}{{ (l | sort(reverse=true))[0] }}{{ l | first }}", "[XYyx]"},
      {"{{ messages[0].role }}:{{ messages[0].content }}", "user:[a-B c]"},
      {"{{ bos_token }}{{ u if u == 'a-B c' else 'no' }}", "<s>[a-B c]"},
      {"{{ strftime_now(u[0] + '%%') }}", "[a%]"},
      {"{{ u.partition('-') | join('|') }}", "[a]|[-]|[B c]"},
      {"{{ (u | safe) + '<' }}", "[a-B c]&lt;"}};
  for (const auto& [source, expected] : rows) {
    CAPTURE(source);
    CHECK(marked(source) == expected);
  }
  // A typed format string may not make template text of anything.
  CHECK(marked("{{ u.format('<') }}", "{:*>3}") == "[**<]");
  CHECK(marked("{{ u % '<' }}", "%3s") == "[  <]");
}

TEST_CASE("T1: the BOS that a template writes is template text, and only there") {
  const ChatTemplate with("{{ bos_token }}{{ messages[0].content }}");
  const std::vector<Message> messages{{"user", "<s>a"}};
  CHECK(marked(with.render(messages, true, "<s>", "</s>")) == "<s>[<s>a]");
}

TEST_CASE("T3: add_generation_prompt adds the opening of the answer and nothing else") {
  const ChatTemplate chat_template(
      "{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>\n\n' + m['content'] | trim + "
      "'<|eot_id|>' }}"
      "{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}");
  const std::vector<Message> messages{{"user", "Hi"}};
  const std::string without = chat_template.render(messages, false, "<s>", "").text;
  CHECK(without == "<s><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>");
  CHECK(chat_template.render(messages, true, "<s>", "").text == without + "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST_CASE("T5: a template that refuses a conversation does it in its own words, and the next one is answered") {
  const ChatTemplate chat_template(
      "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{{ messages[0].content }}");
  const std::vector<Message> refused{{"system", "x"}, {"user", "y"}};
  const std::vector<Message> accepted{{"user", "y"}};
  CHECK_THROWS_WITH(chat_template.render(refused, true, "", ""), "System role not supported");
  CHECK_THROWS_AS(chat_template.render(refused, true, "", ""), TemplateRefusal);
  CHECK(marked(chat_template.render(accepted, true, "", "")) == "[y]");
}
