// Many requests on one model at once, as a server has them: they share each pass of the model, and beginnings that were read before are not read
// again. Here the first prompt warms the cache; the others come together. Each answer is the one that it would be alone.
//   many_at_once MODEL BEGINNING PROMPT...
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <diecast/diecast.hpp>
#include <diecast/hf.hpp>
#include <diecast/reference.hpp>

namespace {

std::future<diecast::Answer> ask(diecast::Scheduler& scheduler, diecast::PromptText prompt) {
  auto answer = std::make_shared<std::promise<diecast::Answer>>();
  scheduler.submit({.request = {.prompt = std::move(prompt), .max_tokens = 16},
                    .events = {.finished = [=](diecast::Answer&& whole, const diecast::Trace&) { answer->set_value(std::move(whole)); },
                               .failed = [=](const diecast::Error& error, std::uint32_t) { answer->set_exception(std::make_exception_ptr(error)); }}});
  return answer->get_future();
}

void print(const diecast::Answer& answer) {
  std::cout << answer.text << "\n[" << answer.usage.cached_tokens << " of " << answer.usage.prompt_tokens << " tokens were known]\n";
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) throw diecast::Error("usage: many_at_once MODEL BEGINNING PROMPT...");
  diecast::Model model = diecast::open_model(argv[1]);
  auto backend = std::make_shared<const diecast::Reference<float>>(model.spec, model.weights);
  auto tokenizer = diecast::make_tokenizer(model.tokenizer);
  const diecast::Engine engine(std::move(model), std::move(backend), std::move(tokenizer));

  diecast::Scheduler scheduler = engine.scheduler({.cache_tokens = 1024});
  const std::jthread loop([&](const std::stop_token& stop) { scheduler.run(stop); });  // sleeps when there is nothing to do

  const auto prompt = [&](const char* end) { return engine.prompt(std::string(argv[2]) + end); };
  print(ask(scheduler, prompt(argv[3])).get());
  std::vector<std::future<diecast::Answer>> answers;
  for (int i = 4; i < argc; ++i) answers.push_back(ask(scheduler, prompt(argv[i])));
  for (std::future<diecast::Answer>& answer : answers) print(answer.get());
} catch (const diecast::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
