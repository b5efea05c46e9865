// The numbers that one watches, as Prometheus reads them (text format 0.0.4). Of one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <diecast/generate/scheduling.hpp>
#include <diecast/text.hpp>
#include <diecast/trace/timing.hpp>

namespace diecast::serve {

class Histogram {
 public:
  void add(double seconds) {
    std::size_t bucket = 0;
    while (bucket < bounds.size() && seconds > bounds[bucket]) ++bucket;
    ++counts_[bucket];
    sum_ += seconds;
  }
  // labels: "" or `stage="queue"`
  std::string text(std::string_view name, const std::string& labels) const {
    std::string out;
    const std::string begin = std::string(name) + "_bucket{" + (labels.empty() ? "" : labels + ",") + "le=\"";
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      count += counts_[i];
      out += begin + (i < bounds.size() ? text_of(bounds[i]) : "+Inf") + "\"} " + std::to_string(count) + '\n';
    }
    const std::string braces = labels.empty() ? "" : '{' + labels + '}';
    return out + std::string(name) + "_sum" + braces + ' ' + text_of(sum_) + '\n' + std::string(name) + "_count" + braces + ' ' + std::to_string(count) + '\n';
  }

 private:
  static constexpr std::array<double, 14> bounds{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30};
  std::array<std::uint64_t, bounds.size() + 1> counts_{};  // the last: above all bounds
  double sum_ = 0;
};

class Metrics {
 public:
  int connections = 0, answering = 0;  // now

  // One more that is answered, as long as it lives.
  struct Answering {
    explicit Answering(Metrics& of) : metrics(of) { ++metrics.answering; }
    Answering(const Answering&) = delete;
    Answering& operator=(const Answering&) = delete;
    ~Answering() { --metrics.answering; }
    Metrics& metrics;
  };

  void request(std::string_view path, int status) { ++requests_[{std::string(path), status}]; }
  void gone() { ++gone_; }
  void answered(const Timing& timing) {
    for (const StageTime& stage : timing.stages) stages_[stage.name].add(static_cast<double>(stage.ns) * 1e-9);
    ttft_.add(static_cast<double>(timing.ttft_ns) * 1e-9);
    if (timing.decode_per_token_ns) decode_.add(*timing.decode_per_token_ns * 1e-9);
  }

  std::string text(const SchedulerStats& s, int queue_limit) const {
    Page page;
    page.head("requests_total", "counter", "requests answered, by path and status");
    for (const auto& [key, count] : requests_)
      page.out += "diecast_requests_total{path=\"" + key.first + "\",status=\"" + std::to_string(key.second) + "\"} " + std::to_string(count) + '\n';
    page.value("clients_gone_total", "counter", "clients that left before their answer was whole", gone_);
    page.value("connections", "gauge", "open connections", connections);
    page.value("answers_in_progress", "gauge", "requests for completions that are being answered", answering);
    page.value("queue_depth", "gauge", "sequences that wait", s.waiting);
    page.value("queue_limit", "gauge", "sequences that may wait", queue_limit);
    page.value("running", "gauge", "sequences that run", s.running);
    page.value("batch_sequences", "gauge", "sequences in the last step", s.sequences);
    page.value("batch_rows", "gauge", "tokens computed in the last step", s.rows);
    page.value("tokens_in_flight", "gauge", "prompt tokens and the most that may be answered, of all accepted requests", s.tokens_in_flight);
    page.value("steps_total", "counter", "steps of the scheduler", s.steps);
    page.value("kv_blocks", "gauge", "blocks of the KV cache", s.blocks);
    page.value("kv_blocks_free", "gauge", "blocks that hold nothing", s.blocks_free);
    page.value("kv_blocks_cached", "gauge", "blocks that only the prefix cache holds", s.blocks_cached);
    page.value("prompt_tokens_total", "counter", "tokens of prompts", s.prompt_tokens);
    page.value("cached_tokens_total", "counter", "of them taken from the prefix cache", s.cached_tokens);
    page.value("completion_tokens_total", "counter", "tokens sampled", s.completion_tokens);
    page.head("answers_total", "counter", "answers that ended, by how");
    using Ended = std::pair<const char*, std::uint64_t>;
    for (const auto& [how, count] : {Ended{"finished", s.finished}, Ended{"cancelled", s.cancelled}, Ended{"deadline", s.late}, Ended{"failed", s.failed}, Ended{"refused", s.refused}})
      page.out += "diecast_answers_total{how=\"" + std::string(how) + "\"} " + std::to_string(count) + '\n';
    page.value("preempted_total", "counter", "sequences that went back to the queue", s.preempted);
    page.head("stage_seconds", "histogram", "stages of the time to the first token");
    for (const auto& [stage, histogram] : stages_) page.out += histogram.text("diecast_stage_seconds", "stage=\"" + stage + '"');
    page.head("ttft_seconds", "histogram", "time to the first token");
    page.out += ttft_.text("diecast_ttft_seconds", "");
    page.head("decode_seconds", "histogram", "time of each further token, mean of an answer");
    page.out += decode_.text("diecast_decode_seconds", "");
    return page.out;
  }

 private:
  struct Page {
    std::string out;
    void head(const std::string& name, const char* type, const char* help) {
      out += "# HELP diecast_" + name + ' ' + help + "\n# TYPE diecast_" + name + ' ' + type + '\n';
    }
    template <class Number>
    void value(const std::string& name, const char* type, const char* help, Number number) {
      head(name, type, help);
      out += "diecast_" + name + ' ' + std::to_string(number) + '\n';
    }
  };

  std::map<std::pair<std::string, int>, std::uint64_t> requests_;
  std::map<std::string, Histogram> stages_;
  Histogram ttft_, decode_;
  std::uint64_t gone_ = 0;
};

}  // namespace diecast::serve
