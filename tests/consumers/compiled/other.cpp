// The other unit: a session of its own.
#include <string>

#include <diecast/compiled.hpp>

std::string text_of(const diecast::Engine& engine) {
  const diecast::Answer answer = engine.session().generate({.prompt = diecast::plain_text("the tin then"), .max_tokens = 12});
  return std::to_string(answer.ids.size()) + " tokens, then " + (answer.finish_reason == diecast::FinishReason::length ? "length" : "stop");
}
