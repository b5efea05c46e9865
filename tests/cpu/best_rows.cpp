// The best rows of a head are those that sorting all of its logits gives, the same bits, with a screen and without, on any number of threads.
#include <cmath>
#include <cstring>
#include <vector>

#include "models.hpp"
#include "odd_specs.hpp"
#include "sorted_best.hpp"

using namespace diecast;

namespace {

void check_same(std::span<const Candidate> found, std::span<const Candidate> right) {
  REQUIRE(found.size() == right.size());
  for (std::size_t i = 0; i < right.size(); ++i) {
    REQUIRE(found[i].id == right[i].id);
    REQUIRE(std::memcmp(&found[i].logit, &right[i].logit, sizeof(float)) == 0);
  }
}

// A model of one narrow layer, whose head is what this is about.
Spec wide_vocabulary(int vocab) {
  Spec spec = testing::odd_specs()[0].second;
  spec.hidden = 64;
  spec.layers = 1;
  spec.vocab = vocab;
  spec.context = 64;
  spec.attention = {.heads = 2, .kv_heads = 1, .head_dim = 32};
  spec.position = Rope{.theta = 10'000};
  spec.norm = RmsNorm{.epsilon = 1e-5};
  spec.mlp = GatedMlp{.width = 64, .activation = Activation::silu};
  spec.head = TiedHead{};
  return spec;
}

using Screening = cpu::Cpu<cpu::Shape{0, 0, 0, 0, testing::mask_of({Format::q8_0}), true}>;

}  // namespace

TEST_CASE("the best of a screened head are the best of all its logits, ties and all") {
  const Spec spec = wide_vocabulary(100'001);
  Weights weights = testing::weights_in(spec, {Format::q8_0, Format::q8_0, Format::q8_0, Format::q8_0}, 5);
  // Some rows are the same as others far away, so that logits tie.
  const std::size_t row = row_bytes(Format::q8_0, weights.embedding.cols);
  auto* const bytes = const_cast<std::byte*>(weights.embedding.bytes.data());
  for (std::size_t i = 0; i < 3000; ++i) std::memcpy(bytes + (97'000 + i) * row, bytes + (31 * i) * row, row);
  for (const cpu::Precision precision : {cpu::Precision::fast, cpu::Precision::exact}) {
    for (const int threads : {1, 2, 3}) {
      const auto model = std::make_shared<const cpu::PackedModel>(cpu::pack(spec, weights, threads));
      REQUIRE(model->parts.screen);
      const Screening screened(model, {threads, cpu::CacheType::f32, precision, true}), whole(model, {threads, cpu::CacheType::f32, precision, false});
      const auto context = screened.open(64), plain = whole.open(64), all = whole.open(64);
      const int sequence = context->table().add();
      plain->table().add();
      all->table().add();
      for (int position = 0; position < 24; ++position) {
        const int count = position % 3 == 0 ? 1 : position % 3 == 1 ? 7 : 64;
        const Best best{count, position % 2 == 0 ? spec.vocab : 98'765};
        const std::vector<Row> asks{{(position * 7919) % spec.vocab, position, sequence, true, best}}, asks_all{{(position * 7919) % spec.vocab, position, sequence, true}};
        const std::vector<Candidate> right = testing::sorted_best(all->forward(asks_all).row(0), best);
        const Logits found = context->forward(asks);
        REQUIRE(found.best.size() == 1);
        check_same(found.best[0], right);
        CHECK(found.computed > 0);
        CHECK(found.computed < spec.vocab);
        const Logits looked = plain->forward(asks);
        check_same(looked.best[0], right);
        CHECK(looked.computed == 0);
      }
    }
  }
}

TEST_CASE("several rows are screened together, and many read the whole head") {
  const Spec spec = wide_vocabulary(100'004);
  const Weights weights = testing::weights_in(spec, {Format::q8_0, Format::q8_0, Format::q8_0, Format::q8_0}, 8);
  const Screening backend(std::make_shared<const cpu::PackedModel>(cpu::pack(spec, weights, 2)), {2, cpu::CacheType::f16, cpu::Precision::exact, true});
  for (const int count : {2, 4, 5, 9}) {
    const auto context = backend.open(64), all = backend.open(64);
    std::vector<Row> rows, rows_all;
    for (int i = 0; i < count; ++i) {
      const bool asks = i != 1;
      rows.push_back({100 * i + 3, i, 0, asks, {asks ? 1 + i : 0, spec.vocab}});
      rows_all.push_back({100 * i + 3, i, 0, asks});
    }
    context->table().add();
    all->table().add();
    const Logits right = all->forward(rows_all);
    const Logits found = context->forward(rows);
    int next = 0;
    for (const Row& row : rows) {
      if (!row.logits) continue;
      check_same(found.best[static_cast<std::size_t>(next)], testing::sorted_best(right.row(next), row.best));
      ++next;
    }
    REQUIRE(found.best.size() == static_cast<std::size_t>(next));
  }
}

TEST_CASE("what is no number is among the best, wherever it lies") {
  const Spec spec = wide_vocabulary(100'000);
  Weights weights = testing::weights_in(spec, {Format::q8_0, Format::q8_0, Format::q8_0, Format::q8_0}, 6);
  const std::size_t row = row_bytes(Format::q8_0, weights.embedding.cols);
  auto* const bytes = const_cast<std::byte*>(weights.embedding.bytes.data());
  const auto scale = [&](std::size_t id, std::uint16_t half) { std::memcpy(bytes + id * row, &half, 2); };
  scale(70'001, 0x7e00);  // NaN
  scale(80'002, 0x7c00);  // infinity
  scale(90'003, 0x7b00);  // so great that sixteen times it is none
  const auto model = std::make_shared<const cpu::PackedModel>(cpu::pack(spec, weights, 2));
  const Screening screened(model, {2, cpu::CacheType::f32, cpu::Precision::exact, true}), whole(model, {2, cpu::CacheType::f32, cpu::Precision::exact, false});
  const auto context = screened.open(16), all = whole.open(16);
  context->table().add();
  all->table().add();
  for (int position = 0; position < 8; ++position) {
    const Best best{3, spec.vocab};
    const std::vector<Candidate> right = testing::sorted_best(all->forward(std::vector<Row>{{position, position, 0, true}}).row(0), best);
    const Logits found = context->forward(std::vector<Row>{{position, position, 0, true, best}});
    check_same(found.best[0], right);
    CHECK(std::any_of(right.begin(), right.end(), [](const Candidate& one) { return one.id == 70'001; }));
  }
}

TEST_CASE("only a large head of eight bits, whose logits nothing changes afterwards, has a screen") {
  Spec spec = wide_vocabulary(100'000);
  CHECK(cpu::has_screen(spec, Format::q8_0));
  CHECK_FALSE(cpu::has_screen(spec, Format::q6_k));
  CHECK_FALSE(cpu::has_screen(spec, Format::f16));
  spec.logit_soft_cap = 30;
  CHECK_FALSE(cpu::has_screen(spec, Format::q8_0));
  spec.logit_soft_cap = {};
  spec.logit_divisor = 8;
  CHECK_FALSE(cpu::has_screen(spec, Format::q8_0));
  spec.logit_divisor = {};
  spec.head = UntiedHead{.bias = true};
  CHECK_FALSE(cpu::has_screen(spec, Format::q8_0));
  spec.head = TiedHead{};
  spec.vocab = 99'999;
  CHECK_FALSE(cpu::has_screen(spec, Format::q8_0));
}
