// Norm + gate/up + activation against double, and LinearResidual behind what it makes is products.hpp's.
#include <catch2/catch.hpp>

#include <diecast/kernels/gate_up.hpp>

#include "oracle.hpp"

using namespace diecast::kernels;
using namespace diecast_test;

namespace {

double activated(Activate activation, double x) {
  switch (activation) {
    case Activate::silu:
      return x / (1 + std::exp(-x));
    case Activate::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activate::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case Activate::relu:
      return x > 0 ? x : 0;
  }
  return 0;
}

template <int hidden, MlpShape shape, Prologue prologue, Team team>
int wrong_gate_up(int rows, int blocks, bool bias, bool every_schedule, std::uint64_t seed) {
  using Op = GateUp<Hidden{hidden}, shape, prologue, two_forms, team>;
  Numbers numbers(seed);
  const StreamThere<prologue, hidden> stream(rows, true, numbers);
  const MatrixThere gate(shape.width, hidden, bias, numbers), up(shape.width, hidden, bias, numbers);
  const Step step = Step::of(rows);
  Floats out(rows * shape.width);
  const typename Op::Params params{step.rows(), stream.stream(), shape.gated ? gate.there.linear() : Linear{}, up.there.linear(),
                                   out.data()};
  if (every_schedule)
    launch<Op>(blocks, params);
  else
    launch_once<Op>(blocks, params);
  const std::vector<float> got = out.all();
  int wrong = stream.wrong_updates(rows);
  for (int row = 0; row < rows; ++row) {
    const Row x = stream.input(row), of_up = product(up.weights, up.bias, x), of_gate = product(gate.weights, gate.bias, x);
    for (std::size_t i = 0; i < of_up.size(); ++i) {
      const double want = shape.gated ? activated(shape.activation, of_gate[i]) * of_up[i] : activated(shape.activation, of_up[i]);
      const double bound = product_bound(hidden) * (2 + std::abs(of_gate[i]) + std::abs(of_up[i]));
      wrong += !within(got[static_cast<std::size_t>(row * shape.width) + i], want, bound);
    }
  }
  return wrong;
}

template <int hidden, MlpShape shape, Prologue prologue, Team team>
int sweep(std::uint64_t seed) {
  int cases = 0;
  for (const int rows : {1, 3, 4, 6})
    for (const int blocks : {1, 2, 5})
      for (const bool bias : {false, true}) {
        INFO(hidden << " -> " << shape.width << ", " << rows << " rows, " << blocks << " blocks, bias " << bias);
        CHECK(wrong_gate_up<hidden, shape, prologue, team>(rows, blocks, bias, rows == 3 && blocks == 2,
                                                           seed + static_cast<std::uint64_t>(cases)) == 0);
        ++cases;
      }
  return cases;
}

}  // namespace

TEST_CASE("GateUp: every activation, gated and plain, every norm") {
  constexpr Prologue rms{NormKind::rms, false, NormKind::rms}, layer{NormKind::layer, false, NormKind::layer},
      both{NormKind::rms, true, NormKind::rms}, after{NormKind::none, true, NormKind::rms};
  CHECK(sweep<46, MlpShape{101, true, Activate::silu}, rms, Team{64, 4}>(1) == 24);
  CHECK(sweep<33, MlpShape{77, false, Activate::gelu_tanh}, layer, Team{32, 2}>(2) == 24);
  CHECK(sweep<72, MlpShape{50, true, Activate::gelu}, both, Team{64, 1}>(3) == 24);
  CHECK(sweep<96, MlpShape{30, false, Activate::relu}, after, Team{96, 3}>(4) == 24);
}

TEST_CASE("a NaN in one row's hidden states comes through to that row and no further") {
  using Op = GateUp<Hidden{46}, MlpShape{5, true, Activate::silu}, Prologue{NormKind::rms, false, NormKind::rms}, two_forms, Team{64, 2}>;
  Numbers numbers(5);
  std::vector<float> hidden = numbers.reals(2 * 46);
  hidden[7] = std::nanf("");
  const Constants<float> hidden_there(hidden);
  const NormThere norm(46, false, 1e-5f, numbers);
  const MatrixThere gate(5, 46, false, numbers), up(5, 46, false, numbers);
  const Step step = Step::of(2);
  Floats out(10);
  launch<Op>(
      1, {step.rows(), {hidden_there.data(), norm.norm(), nullptr, {}, 1, nullptr}, gate.there.linear(), up.there.linear(), out.data()});
  for (int i = 0; i < 5; ++i) {
    CHECK(std::isnan(out[i]));
    CHECK(std::isfinite(out[5 + i]));
  }
}
