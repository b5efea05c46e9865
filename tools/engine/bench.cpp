// `bench`: tokens a second of reading a prompt and of generating, beside what the machine itself can do, measured in the same run.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <random>
#include <vector>

#include <fmt/core.h>

#include <diecast/backend/layer_view.hpp>
#include <diecast/cpu/parts.hpp>

#include "load.hpp"
#include "text.hpp"
#include "waiting.hpp"

namespace diecast::shell {

namespace {

void check(const BenchOptions& options, const CommonOptions& common, const Spec& spec) {
  const auto need = [](const char* name, int value, int least) {
    if (value < least || value > 1'000'000) throw Error(fmt::format("{} {} is not possible: it may be {} to 1000000", name, value, least));
  };
  need("--prompt", options.prompt, 0);
  need("--generate", options.generate, 0);
  need("--batch", options.batch, 1);
  need("--depth", options.depth, 0);
  need("--repeat", options.repeat, 1);
  if (options.prompt == 0 && options.generate == 0) throw Error("there is nothing to measure: --prompt and --generate are both 0");
  const int longest = std::max(options.prompt, options.depth + options.generate);
  const int most = common.context ? context_tokens(common, spec) : spec.context;
  if (longest > most) throw Error(fmt::format("{} tokens of one sequence are to be measured, the context holds {}", longest, most));
}

// The id of the greatest logit, the lowest of equal ones.
int best_id(const Logits& logits, std::size_t row) {
  if (!logits.best.empty()) return logits.best[row].empty() ? 0 : logits.best[row].front().id;  // empty: a model of NaN
  const auto all = logits.row(static_cast<int>(row));
  return static_cast<int>(std::max_element(all.begin(), all.end()) - all.begin());
}

class Bench {
 public:
  // whole: on a device, one launch generates all tokens, without the host.
  Bench(const Backend& backend, const BenchOptions& options, bool whole) : options_(options), vocab_(backend.spec().vocab) {
    const auto whole_blocks = [](int tokens) { return (tokens + BlockTable::block_tokens - 1) / BlockTable::block_tokens * BlockTable::block_tokens; };
    context_ = backend.open(whole_blocks(options.prompt) + (options.generate > 0 ? options.batch * whole_blocks(options.depth + options.generate) : 0));
    if (whole) device_ = dynamic_cast<cuda::OnDevice*>(context_.get());
  }

  // Seconds of a prompt, up to the choice of the first token.
  double prompt() {
    const int sequence = context_->table().add();
    const double seconds = timed([&] { best_id(read(sequence, options_.prompt, true), 0); });
    context_->table().remove(sequence);
    return seconds;
  }

  // Seconds of generating with all sequences together.
  double generate() {
    while (static_cast<int>(sequences_.size()) < options_.batch) {
      sequences_.push_back(context_->table().add());
      if (options_.depth > 0) read(sequences_.back(), options_.depth, false);
    }
    std::vector<Row> rows;
    for (const int sequence : sequences_) rows.push_back({random_id(), options_.depth, sequence, true, {1, vocab_}});
    const double seconds = timed([&] {
      if (device_ != nullptr) {
        device_->generate(rows, options_.generate, {});
        return;
      }
      for (int step = 0; step < options_.generate; ++step) {
        const Logits logits = context_->forward(rows);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          rows[i].id = best_id(logits, i);
          ++rows[i].position;
        }
        computed_ += logits.computed;
        ++steps_;
      }
    });
    for (const int sequence : sequences_) context_->table().truncate(sequence, options_.depth);
    return seconds;
  }

  std::size_t cache_bytes() const { return context_->block_bytes() / BlockTable::block_tokens; }  // of one position; 0: the backend does not say

  // Rows of a screened head that a step had to compute, in the mean.
  double computed() const { return steps_ == 0 ? 0 : static_cast<double>(computed_) / static_cast<double>(steps_); }

 private:
  int random_id() { return static_cast<int>(random_() % static_cast<std::uint32_t>(vocab_)); }

  Logits read(int sequence, int count, bool logits) {
    std::vector<Row> rows;
    for (int i = 0; i < count; ++i) rows.push_back({random_id(), i, sequence, logits && i + 1 == count, {1, vocab_}});
    return context_->forward(rows);
  }

  template <class Work>
  static double timed(const Work& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  BenchOptions options_;
  int vocab_;
  std::unique_ptr<Context> context_;
  cuda::OnDevice* device_ = nullptr;
  std::vector<int> sequences_;
  long computed_ = 0, steps_ = 0;
  std::mt19937 random_{1};  // the same ids in every run
};

// Of all repeats.
struct Speed {
  std::vector<double> tok_s;
  double best() const { return *std::max_element(tok_s.begin(), tok_s.end()); }
  double median() const {
    std::vector<double> sorted = tok_s;
    std::sort(sorted.begin(), sorted.end());
    return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  }
};

// Packed bytes that one step reads, whatever the number of its tokens: all but tables of which it takes single rows. Of a screened head its screen, and
// the panels of the rows that were computed.
double weights_read(const cpu::PackedModel& model, bool screened, double computed) {
  const cpu::Parts& parts = model.parts;
  std::size_t bytes = model.bytes.size() - parts.position.bytes();
  if (parts.head.matrix.data != parts.embedding.data) bytes -= parts.embedding.bytes();
  const std::size_t screen = parts.screen ? parts.screen.high.bytes() + parts.screen.norms.bytes() : 0;
  if (!screened) return static_cast<double>(bytes - screen);
  return static_cast<double>(bytes - parts.head.matrix.bytes()) + computed * static_cast<double>(parts.head.matrix.panel_bytes());
}

// Positions that all layers together read for one token, in the mean: layers with a window read no more than that; the mean step stands in the middle of what is
// generated.
double positions_seen(const Spec& spec, const BenchOptions& options) {
  const double seen = options.depth + (options.generate + 1) / 2.0;
  double positions = 0;
  for (int layer = 0; layer < spec.layers; ++layer) {
    const auto window = view_of(spec, layer).window;
    positions += window ? std::min<double>(*window, seen) : seen;
  }
  return positions;
}

// Multiplications of weights that one token of a prompt takes; the head is for its last only.
double products_of_token(const cpu::PackedModel& model) {
  double products = 0;
  for (const cpu::LayerParts& layer : model.parts.layers)
    for (const cpu::LinearPart* part : {&layer.q, &layer.k, &layer.v, &layer.output, &layer.gate, &layer.up, &layer.down})
      products += static_cast<double>(part->matrix.rows) * part->matrix.cols;
  return products;
}

// Peak of the memory that is resident, anonymous and mapped files together.
std::optional<long long> peak_rss() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      long long kib = 0;
      status >> kib;
      return kib * 1024;
    }
  return {};
}

}  // namespace

int bench(const Compiled& compiled, const CommonOptions& common, const BenchOptions& options) {
  std::optional<Waiting> waiting("measuring");
  Opened opened = open_checked(compiled, common);
  const Spec spec = opened.model.spec;
  check(options, common, spec);
  const int threads = thread_count(common);
  const bool cpu = common.backend == "cpu";
  if (cpu && !opened.packed) opened.packed = std::make_shared<const cpu::PackedModel>(cpu::pack(spec, opened.model.weights, threads));
  CommonOptions sized = common;
  sized.context = std::min(spec.context, std::max(options.prompt, options.depth + options.generate));  // for its own check of the memory
  const auto backend = make_backend(sized, opened);

  Speed prefill, decode;
  double computed = 0, of_position = 0;
  {
    Bench bench(*backend, options, common.kernels == "whole");
    for (int i = -1; i < options.repeat; ++i) {  // the first finds memory cold, and does not count
      if (options.prompt > 0) {
        const double seconds = bench.prompt();
        if (i >= 0) prefill.tok_s.push_back(options.prompt / seconds);
      }
      if (options.generate > 0) {
        const double seconds = bench.generate();
        if (i >= 0) decode.tok_s.push_back(static_cast<double>(options.generate) * options.batch / seconds);
      }
    }
    computed = bench.computed();
    of_position = static_cast<double>(bench.cache_bytes());
  }

  Json json;
  json["isa"] = common.cpu.isa;
  json["backend"] = backend->name();
  if (cpu) json["precision"] = common.precision;
  json["threads"] = threads;
  const auto put_speed = [&](const char* name, const Speed& speed) {
    if (speed.tok_s.empty()) return;
    json[fmt::format("{}_tok_s", name)] = speed.median();
    json[fmt::format("{}_best_tok_s", name)] = speed.best();
    json[fmt::format("{}_all_tok_s", name)] = speed.tok_s;
  };
  put_speed("prefill", prefill);
  put_speed("decode", decode);
  const auto peak = peak_rss();  // before the ceilings take memory of their own
  if (cpu) {
    const double weights = weights_read(*opened.packed, computed > 0, computed);
    const cpu::Ceilings most = common.cpu.ceilings(static_cast<std::size_t>(weights), threads);
    if (opened.packed->parts.screen) json["head_rows_computed"] = computed;
    if (options.generate > 0) {
      const auto type = common.cache_type.empty() ? cpu::CacheType::f16 : *cpu::cache_type_of(common.cache_type);
      const double cache = static_cast<double>(cpu::cache_bytes(spec, BlockTable::block_tokens, type)) / BlockTable::block_tokens;  // of one position
      const double token = weights / options.batch + cache * positions_seen(spec, options) / spec.layers;
      json["bytes_per_token"] = token;
      json["bandwidth_share"] = token * decode.median() / most.read_bytes_s;
    }
    if (options.prompt > 0) json["int8_share"] = products_of_token(*opened.packed) * prefill.median() / most.products_s;
    json["ceilings"] = {{"read_bytes_s", most.read_bytes_s}, {"int8_products_s", most.products_s}, {"meeting_s", most.meeting_s}};
  }
  if (const auto* device = dynamic_cast<const cuda::DeviceBackend*>(backend.get())) {
    json["kernels"] = common.kernels;
    json["step_bytes"] = device->step_bytes();  // of weights, once for all sequences
    if (options.generate > 0)
      json["bytes_per_token"] = static_cast<double>(device->step_bytes()) / options.batch + of_position * positions_seen(spec, options) / spec.layers;
  }
  if (peak) json["peak_rss_bytes"] = *peak;
  waiting.reset();
  if (common.json) {
    put(line_of(json));
    return 0;
  }
  const auto line = [](const std::string& what, const std::string& value) { put(fmt::format("{:<36}{:>14}\n", what, value)); };
  const auto speed_line = [&](const std::string& what, const Speed& speed) {
    if (!speed.tok_s.empty()) line(what, fmt::format("{:.1f} tok/s   best {:.1f}", speed.median(), speed.best()));
  };
  speed_line(fmt::format("prompt of {}", options.prompt), prefill);
  speed_line(fmt::format("generating {} x {} after {}", options.batch, options.generate, options.depth), decode);
  if (json.contains("bytes_per_token")) {
    line("bytes read for a token", fmt::format("{:.1f} MB", json["bytes_per_token"].get<double>() / 1e6));
    if (json.contains("bandwidth_share")) line("share of the best read", fmt::format("{:.2f}", json["bandwidth_share"].get<double>()));
  }
  if (computed > 0) line("rows of the head computed", fmt::format("{:.0f} of {}", computed, spec.vocab));
  if (json.contains("int8_share")) line("share of the int8 peak, prompt", fmt::format("{:.2f}", json["int8_share"].get<double>()));
  if (json.contains("ceilings")) {
    const Json& most = json["ceilings"];
    line("best read of as much memory", fmt::format("{:.1f} GB/s", most["read_bytes_s"].get<double>() / 1e9));
    line("int8 multiply-adds at most", fmt::format("{:.0f} G/s", most["int8_products_s"].get<double>() / 1e9));
    line("a meeting of the threads", fmt::format("{:.0f} ns", most["meeting_s"].get<double>() * 1e9));
  }
  if (peak) line("peak memory", fmt::format("{:.0f} MB", static_cast<double>(*peak) / 1e6));
  return 0;
}

}  // namespace diecast::shell
