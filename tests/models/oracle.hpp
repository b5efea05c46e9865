// The whole path from text to logits on a real model, held against HF transformers in float32 over the same (dequantised) file.
// tests/data/oracle says how its numbers were made; none of them comes from our code.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include <diecast/files/open.hpp>
#include <diecast/generate/engine.hpp>
#include <diecast/reference/reference.hpp>
#include <diecast/sample/logprobs.hpp>
#include <diecast/tokens/sentencepiece.hpp>

#include "real_models.hpp"

namespace diecast::testing {

using nlohmann::json;

inline Engine engine_of(const std::string& path) {
  Model model = open_model(path);
  auto tokenizer = make_any_tokenizer(model.tokenizer);
  auto backend = std::make_shared<Reference<float>>(model.spec, model.weights, static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  return Engine(std::move(model), std::move(backend), std::move(tokenizer));
}

inline bool near(double ours, double theirs, double tolerance) { return std::abs(ours - theirs) <= tolerance; }  // NaN fails

inline std::vector<int> prompt_ids(const Engine& engine, const json& one) {
  PromptText prompt = plain_text(one["text"].get<std::string>());
  if (one["kind"] == "chat") {
    std::vector<Message> messages;
    for (const json& message : one["messages"]) messages.push_back({message["role"].get<std::string>(), message["content"].get<std::string>()});
    prompt = engine.prompt(messages);
    CHECK(prompt.text == one["text"].get<std::string>());
  }
  std::vector<int> ids = engine.tokenizer().encode(prompt);
  put_bos(engine.tokenizer(), ids);
  return ids;
}

inline void check_logits(const Engine& engine, const json& one, const std::vector<int>& ids) {
  const int count = static_cast<int>(ids.size());
  const auto context = engine.backend().open(count);
  const int sequence = context->table().add();
  double nll = 0;
  for (int begin = 0; begin < count; begin += 64) {
    std::vector<Row> rows;
    for (int i = begin; i < std::min(begin + 64, count); ++i) rows.push_back({ids[static_cast<std::size_t>(i)], i, sequence, true});
    const Logits logits = context->forward(rows);
    for (int i = begin; i < std::min(begin + 64, count); ++i) {
      const auto row = logits.row(i - begin);
      if (i + 1 < count) {
        nll += log_sum_exp(row) - static_cast<double>(row[static_cast<std::size_t>(ids[static_cast<std::size_t>(i) + 1])]);
        continue;
      }
      for (std::size_t k = 0; k < one["top_ids"].size(); ++k)
        CHECK(near(static_cast<double>(row[one["top_ids"][k].get<std::size_t>()]), one["top_logits"][k].get<double>(), 2e-3));
      CHECK(near(log_sum_exp(row), one["logsumexp"].get<double>(), 2e-3));
      double sum = 0;
      for (const float logit : row) sum += static_cast<double>(logit);
      CHECK(near(sum / static_cast<double>(row.size()), one["logit_mean"].get<double>(), 2e-3));
    }
  }
  if (count > 1) CHECK(near(nll / (count - 1), one["mean_nll"].get<double>(), 1e-4));
}

// As long as the oracle's margin says that the choice is not a matter of rounding.
inline void check_greedy(const Engine& engine, const json& one, const std::vector<int>& ids) {
  const auto expected = one["greedy_ids"].get<std::vector<int>>();
  const int most = static_cast<int>(expected.size());
  const int context = std::min(engine.spec().context, static_cast<int>(ids.size()) + most);
  Session session = engine.session({.context = context});
  const Answer answer = session.generate({.prompt = ids, .max_tokens = most});
  bool sure = true;
  for (std::size_t i = 0; i < answer.ids.size() && sure; ++i) {
    sure = one["greedy_margin"][i].get<double>() > 0.02;
    if (!sure) break;
    INFO("token " << i);
    REQUIRE(i < expected.size());
    CHECK(answer.ids[i] == expected[i]);
  }
  if (sure && one["kind"] == "chat") {
    // The oracle's text shows the marker that ended the answer; ours leaves it out.
    const std::string text = one["greedy_text"].get<std::string>();
    const bool ended = answer.finish_reason == FinishReason::stop;
    CHECK(answer.text + (ended ? std::string(engine.tokenizer().piece(answer.ids.back())) : "") == text);
  }
}

inline void check_against_oracle(const std::string& name) {
  const auto path = real_model(name);
  if (!path) {
    WARN("skipped: the model " << name << " is not in the cache (./check fetches it)");
    return;
  }
  const json oracle = json::parse(std::ifstream(std::string(DIECAST_SOURCE_DIR) + "/tests/data/oracle/" + name + ".json"));
  const Engine engine = engine_of(*path);
  for (const json& one : oracle["cases"]) {
    INFO(one["text"].get<std::string>().substr(0, 60));
    const std::vector<int> ids = prompt_ids(engine, one);
    REQUIRE(ids == one["ids"].get<std::vector<int>>());
    check_logits(engine, one, ids);
    check_greedy(engine, one, ids);
  }
}

}  // namespace diecast::testing
