// What crosses from the thread that steps to the one that serves.
#include <thread>

#include <diecast/serve/mailbox.hpp>

#include "hosted.hpp"

using namespace diecast;

TEST_CASE("a failure leaves its thread as a sentence of its own: nothing of the exception is shared") {
  int woken = 0;
  serve::Mailbox mail([&] { ++woken; });
  for (int i = 0; i < 200; ++i) {
    std::jthread steps([&] {
      const Error error("the backend broke at " + std::to_string(i), Blame::program);
      mail.put(serve::Failed(7, error));
      std::this_thread::yield();
    });
    std::vector<serve::Event> events;
    while (events.empty()) events = mail.take();
    const auto& failed = std::get<serve::Failed>(events.front());
    CHECK(failed.choice == 7);
    CHECK(std::string(failed.error().what()) == "the backend broke at " + std::to_string(i));
    CHECK(failed.error().blame() == Blame::program);
  }
  CHECK(woken == 200);
}
