// Many streaming clients, a fifth of them leaving at a random moment: nothing is lost, mixed or held. Short enough for the sanitizers.
#include "hosted.hpp"

#include <random>

using namespace diecast;
using namespace diecast::testing;

TEST_CASE("Faults: many clients, a fifth of them leaving at random: every finished answer equals its solo run, and all memory is free again") {
  serve::ServerOptions options;
  options.scheduler.cache_tokens = 512;  // fewer than the clients want: some go back to the queue
  options.scheduler.running = 16;
  options.scheduler.waiting = 500;
  Hosted hosted(endless(), options);
  hosted.model->before_forward = [] { std::this_thread::sleep_for(std::chrono::microseconds(200)); };
  constexpr int clients = 40, rounds = 3;
  const auto request = [](int i) {
    return Hosted::body({{"stream", true}, {"max_tokens", 20 + i % 50}, {"temperature", i % 2}, {"seed", i}}, "prompt " + std::to_string(i % 7) + std::string(static_cast<std::size_t>(i % 40), 'x'));
  };
  const auto text_of = [](const Reply& reply) {
    std::string text;
    for (const Json& event : reply.events())
      if (event.is_object() && event["choices"][0]["delta"].contains("content")) text += event["choices"][0]["delta"]["content"].get<std::string>();
    return text;
  };
  std::vector<std::string> solo;
  for (int i = 0; i < clients; ++i) {
    const std::string text = text_of(Client(hosted.port()).post("/v1/chat/completions", request(i)));
    CHECK(static_cast<int>(text.size()) == 20 + i % 50);
    solo.push_back(text);
  }

  std::atomic<int> same{0}, left{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i)
    threads.emplace_back([&, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      for (int round = 0; round < rounds; ++round) {
        try {
          Client client(hosted.port(), 60);
          client.send(Client::request("POST", "/v1/chat/completions", request(i).dump()));
          if (random() % 5 == 0) {
            const auto bytes = random() % 8000;
            while (client.came().size() < bytes && client.more()) {
            }
            ++left;
            continue;
          }
          ++(text_of(client.read()) == solo[static_cast<std::size_t>(i)] ? same : wrong);
        } catch (const std::exception&) {
          ++wrong;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(left > 0);
  CHECK(same == clients * rounds - left);
  REQUIRE(hosted.eventually([&] { return hosted.idle(); }));
  CHECK(hosted.server->stats().failed == 0);
  CHECK(hosted.server->stats().preempted > 0);
}
