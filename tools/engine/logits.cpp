// `logits`: exactly these ids, no template, no BOS; the last position's greatest logits, and on request every position's best.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include <fmt/core.h>

#include <diecast/sample/logprobs.hpp>

#include "load.hpp"
#include "text.hpp"
#include "waiting.hpp"

namespace diecast::shell {

namespace {

// The ids of the greatest logits, best first; of equal ones the lowest id.
std::vector<int> best_ids(std::span<const float> logits, int count) {
  std::vector<int> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto better = [&](int a, int b) {
    const float za = logits[static_cast<std::size_t>(a)], zb = logits[static_cast<std::size_t>(b)];
    return za != zb ? za > zb : a < b;
  };
  const auto end = ids.begin() + std::min<std::ptrdiff_t>(count, static_cast<std::ptrdiff_t>(ids.size()));
  std::partial_sort(ids.begin(), end, ids.end(), better);
  ids.erase(end, ids.end());
  return ids;
}

void refuse_what_is_no_number(std::span<const float> logits, int position) {
  for (const float logit : logits)
    if (!(logit < std::numeric_limits<float>::infinity()))  // NaN fails
      throw Error(fmt::format("the logits of position {} hold {}: the weights in the model file are damaged", position, logit != logit ? "NaN" : "infinity"));
}

}  // namespace

int logits(const Compiled& compiled, const CommonOptions& common, const LogitsOptions& options) {
  if (options.top < 1) throw Error(fmt::format("--top is {} but must be at least 1", options.top));
  std::optional<Waiting> waiting("computing");
  Opened opened = open_checked(compiled, common);
  const Model& model = opened.model;
  const int count = static_cast<int>(options.ids.size());
  if (count > model.spec.context) throw Error(fmt::format("{} ids were given, this model holds {}", count, model.spec.context));
  if (common.context && count > context_tokens(common, model.spec)) throw Error(fmt::format("{} ids were given, the context holds {}", count, *common.context));
  CommonOptions sized = common;
  sized.context = count;
  const auto backend = make_backend(sized, opened);
  const auto context = backend->open(count);
  const int sequence = context->table().add();

  Json json;
  Json positions = Json::array();
  double nll = 0;
  constexpr int chunk = 64;  // bounds the memory of all positions' logits
  for (int begin = 0; begin < count; begin += chunk) {
    std::vector<Row> rows;
    for (int i = begin; i < std::min(begin + chunk, count); ++i)
      rows.push_back({options.ids[static_cast<std::size_t>(i)], i, sequence, options.all || i + 1 == count});
    const Logits result = context->forward(rows);
    const int asked = static_cast<int>(result.values.size()) / result.vocab;
    for (int i = 0; i < asked; ++i) {
      const int position = begin + static_cast<int>(rows.size()) - asked + i;
      const std::span<const float> row = result.row(i);
      refuse_what_is_no_number(row, position);
      if (options.all) {
        const int best = best_ids(row, 1).front();
        positions.push_back({{"id", best}, {"logit", row[static_cast<std::size_t>(best)]}});
        if (position + 1 < count)
          nll += log_sum_exp(row) - static_cast<double>(row[static_cast<std::size_t>(options.ids[static_cast<std::size_t>(position) + 1])]);
      }
      if (position + 1 == count) {
        Json top = Json::array();
        for (const int id : best_ids(row, options.top)) top.push_back({{"id", id}, {"logit", row[static_cast<std::size_t>(id)]}});
        json["top"] = std::move(top);
        json["logsumexp"] = log_sum_exp(row);
      }
    }
  }
  if (options.all) {
    if (count > 1) json["mean_nll"] = nll / (count - 1);
    json["positions"] = positions;
  }

  waiting.reset();
  if (common.json) {
    put(line_of(json));
  } else {
    for (const Json& one : positions) put(fmt::format("{:>8}  {:.6f}\n", one["id"].get<int>(), one["logit"].get<double>()));
    if (options.all) put("\n");
    for (const Json& one : json["top"]) put(fmt::format("{:>8}  {:.6f}\n", one["id"].get<int>(), one["logit"].get<double>()));
    put(fmt::format("logsumexp {:.6f}\n", json["logsumexp"].get<double>()));
    if (json.contains("mean_nll")) put(fmt::format("mean negative log-likelihood {:.6f} nats\n", json["mean_nll"].get<double>()));
  }
  return 0;
}

}  // namespace diecast::shell
