// What the server costs over the library: one engine in one process, asked through a Scheduler and over HTTP in turn, the same prompts in both.
// Prints JSON. The clients are threads of this process; like the server's own they ask for short time slices, or the system's waits would be measured.
// bench_service MODEL.gguf [PRECISION [PAIRS [ROUNDS]]]
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>

#include <diecast/cpu/parts.hpp>
#include <diecast/cpu/path.hpp>
#include <diecast/files/open.hpp>
#include <diecast/generate/engine.hpp>
#include <diecast/serve/server.hpp>
#include <diecast/serve/short_slices.hpp>
#include <diecast/tokens/make_tokenizer.hpp>

diecast::cpu::Path kernels();

namespace {

using namespace diecast;
using clock = std::chrono::steady_clock;
using tcp = boost::asio::ip::tcp;

double ms_since(clock::time_point began) { return std::chrono::duration<double, std::milli>(clock::now() - began).count(); }
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

// CPU time, of a thread.
double cpu_ms(clockid_t of) {
  timespec time{};
  ::clock_gettime(of, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e6;
}

// Nobody has begun like this before: nothing comes from the prefix cache.
std::string prompt(int number) {
  return std::to_string(number) + " is the number on the old house beside the river, where the miller and his three daughters lived until the great flood of that year carried";
}

struct Asked {
  double first_ms = 0;
  int tokens = 0;
};

class Library {
 public:
  Library(const Engine& engine, const SchedulerOptions& options) : scheduler_(engine.scheduler(options)), loop_([this](const std::stop_token& stop) { scheduler_.run(stop); }) {}

  Asked ask(int number, int tokens) {
    const auto asked = std::make_shared<Asked>();
    const auto done = std::make_shared<std::promise<void>>();
    const auto began = clock::now();
    scheduler_.submit({.request = {.prompt = plain_text(prompt(number)), .sampling = {.temperature = 0}, .max_tokens = tokens},
                       .events = {.piece = [=](const Piece& piece) { if (++asked->tokens, asked->first_ms == 0 && !piece.text.empty()) asked->first_ms = ms_since(began); },
                                  .finished = [=](Answer&&, const Trace&) { done->set_value(); },
                                  .failed = [=](const Error& error, std::uint32_t) { done->set_exception(std::make_exception_ptr(error)); }}});
    done->get_future().get();
    return *asked;
  }

 private:
  Scheduler scheduler_;
  std::jthread loop_;
};

class Service {
 public:
  Service(const std::shared_ptr<const Engine>& engine, const SchedulerOptions& options)
      : server_(engine, {.port = 0, .scheduler = options}), thread_([this] { server_.run(); }) {}
  ~Service() {
    server_.stop();
    thread_.join();
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  Asked ask(int number, int tokens) const {
    Asked asked;
    const std::string body = nlohmann::json{{"prompt", prompt(number)}, {"max_tokens", tokens}, {"temperature", 0}, {"stream", true}}.dump();
    const auto began = clock::now();
    boost::asio::io_context io;
    tcp::socket socket(io);
    socket.connect({boost::asio::ip::address_v4::loopback(), server_.port()});
    socket.set_option(tcp::no_delay(true));
    boost::asio::write(socket, boost::asio::buffer("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body));
    std::array<char, 16384> came{};
    boost::system::error_code ended;
    std::string text;
    while (true) {
      const std::size_t count = socket.read_some(boost::asio::buffer(came), ended);
      if (ended) break;
      text.append(came.data(), count);
      if (asked.first_ms == 0 && text.find("data: {") != std::string::npos) asked.first_ms = ms_since(began);
    }
    if (!text.starts_with("HTTP/1.1 200") || text.find("[DONE]") == std::string::npos) throw Error("the server answered: " + text);
    asked.tokens = tokens;
    return asked;
  }
  double cpu_ms() {
    clockid_t id{};
    ::pthread_getcpuclockid(thread_.native_handle(), &id);
    return ::cpu_ms(id);
  }

 private:
  serve::Server server_;
  std::thread thread_;
};

// Tokens a second with so many clients, each of which asks `times` one after the other. Twice as many as may run: nobody's coming and going leaves a
// place empty.
template <class Way>
double throughput(Way& way, int clients, int times, int tokens, int number, std::atomic<double>& client_ms) {
  const auto began = clock::now();
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < clients; ++i, number += times)
      all.emplace_back([&way, &client_ms, times, tokens, first = number] {
        serve::ask_for_short_slices();
        for (int k = 0; k < times; ++k) way.ask(first + k, tokens);
        client_ms += cpu_ms(CLOCK_THREAD_CPUTIME_ID);
      });
  }
  return clients * times * tokens / (ms_since(began) / 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw diecast::Error("usage: bench_service MODEL.gguf [PRECISION [PAIRS [ROUNDS]]]");
    const auto precision = cpu::precision_of(argc > 2 ? argv[2] : "fast");
    if (!precision) throw diecast::Error("there is no such precision: fast, balanced and exact are possible");
    const int pairs = argc > 3 ? std::atoi(argv[3]) : 100, rounds = argc > 4 ? std::atoi(argv[4]) : 10;
    const int threads = (std::max)(1, static_cast<int>(std::thread::hardware_concurrency()));
    Model model = open_model(argv[1]);
    const cpu::Path path = kernels();
    cpu::check_machine(path);
    auto backend = path.run(std::make_shared<const cpu::PackedModel>(cpu::pack(model.spec, model.weights, threads)), {threads, cpu::CacheType::f16, *precision});
    auto tokenizer = make_tokenizer(model.tokenizer);
    const auto engine = std::make_shared<const Engine>(std::move(model), std::move(backend), std::move(tokenizer));
    const SchedulerOptions options{.cache_tokens = 16384, .running = 16};
    Library library(*engine, options);
    Service service(engine, options);
    serve::ask_for_short_slices();

    int number = 1000;
    for (int i = 0; i < 5; ++i, ++number) library.ask(number, 16), service.ask(number, 16);
    std::vector<double> alone, served, more;
    for (int i = 0; i < pairs; ++i, ++number) {
      const bool served_first = i % 2 == 1;
      double s = served_first ? service.ask(number, 2).first_ms : 0;
      const double l = library.ask(number, 2).first_ms;
      if (!served_first) s = service.ask(number, 2).first_ms;
      alone.push_back(l), served.push_back(s), more.push_back(s - l);
    }
    std::vector<double> library_rates, server_rates, ratios;
    double serving_ms = 0, wall_ms = 0;
    std::atomic<double> client_ms = 0, ignored = 0;
    for (int i = 0; i < rounds; ++i) {
      const auto through_server = [&] {
        const double cpu = service.cpu_ms();
        const auto began = clock::now();
        server_rates.push_back(throughput(service, 2 * options.running, 2, 32, number, client_ms));
        wall_ms += ms_since(began), serving_ms += service.cpu_ms() - cpu;
      };
      if (i % 2 == 1) through_server();
      library_rates.push_back(throughput(library, 2 * options.running, 2, 32, number, ignored));
      if (i % 2 == 0) through_server();
      number += 1000;
      ratios.push_back(server_rates.back() / library_rates.back());
    }
    std::cout << nlohmann::json{{"pairs", pairs}, {"rounds", rounds}, {"precision", precision_name(*precision)}, {"library_ttft_ms", median(alone)}, {"server_ttft_ms", median(served)},
                                {"overhead_ttft_ms", median(more)}, {"library_tok_s", median(library_rates)}, {"server_tok_s", median(server_rates)},
                                {"throughput_ratio", median(ratios)}, {"throughput_ratios", ratios}, {"ttft_differences_ms", more},
                                {"serving_thread_share", serving_ms / wall_ms / threads}, {"clients_share", client_ms / wall_ms / threads}}.dump(1) << "\n";
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench_service: " << error.what() << "\n";
    return 1;
  }
}
