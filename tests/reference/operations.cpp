// The operations of the reference against values worked out by hand or from the papers' formulas.
#include <diecast/reference/attention.hpp>
#include <diecast/reference/mlp.hpp>
#include <diecast/reference/norm.hpp>
#include <diecast/reference/rope.hpp>

#include <catch2/catch.hpp>

#include <limits>

using namespace diecast;
using namespace diecast::reference;

namespace {

// Written so that NaN fails.
bool close(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance; }

std::vector<double> softmax_of(std::vector<double> scores) {
  softmax<double>(scores);
  return scores;
}

}  // namespace

TEST_CASE("R1: half-split pairs turn by the position times the frequency") {
  const double expected[4] = {-1.9841106, 1.9599007, 2.4623779, 4.0197997};
  const auto frequencies = inverse_frequencies(Rope{.theta = 10'000}, 4);
  double x[4] = {1, 2, 3, 4};
  rotate(x, frequencies, 1);
  for (int i = 0; i < 4; ++i) CHECK(close(x[i], expected[i], 1e-7));

  // Neighbouring pairs, as GGUF stores llama's rows: the same turn once the values are brought into half-split order.
  const double neighbours[4] = {-1.1426397, 1.9220756, 2.9598507, 4.0297995};
  double y[4] = {1, 3, 2, 4};
  rotate(y, frequencies, 1);
  CHECK(close(y[0], neighbours[0], 1e-7));
  CHECK(close(y[2], neighbours[1], 1e-7));
  CHECK(close(y[1], neighbours[2], 1e-7));
  CHECK(close(y[3], neighbours[3], 1e-7));
}

TEST_CASE("V7: rotations add") {
  const auto frequencies = inverse_frequencies(Rope{.theta = 10'000}, 4);
  double at_three[4] = {1, 2, 3, 4}, at_one[4] = {1, 2, 3, 4};
  rotate(at_three, frequencies, 3);
  rotate(at_three, frequencies, -2);
  rotate(at_one, frequencies, 1);
  for (int i = 0; i < 4; ++i) CHECK(close(at_three[i], at_one[i], 1e-12));
}

TEST_CASE("R2: llama3 scaling blends linearly in old context / wavelength") {
  const auto scaled = inverse_frequencies(Rope{.theta = 5e5, .scaling = Llama3Scaling{32, 1, 4, 8192}}, 64);
  const auto plain = inverse_frequencies(Rope{.theta = 5e5}, 64);
  CHECK(close(scaled[14], 3.211445995e-3, 1e-12));
  CHECK(close(scaled[15], 1.290547928e-3, 1e-12));
  CHECK(close(scaled[16], 4.295567966e-4, 1e-13));
  CHECK(close(scaled[17], 9.708287803e-5, 1e-14));
  CHECK(close(scaled[31], 9.418306725e-8, 1e-17));
  for (std::size_t i = 0; i <= 14; ++i) CHECK(scaled[i] == plain[i]);
  for (std::size_t i = 18; i < 32; ++i) CHECK(close(scaled[i] * 32, plain[i], 1e-15));

  const auto wide = inverse_frequencies(Rope{.theta = 5e5, .scaling = Llama3Scaling{8, 1, 4, 8192}}, 128);
  const auto wide_plain = inverse_frequencies(Rope{.theta = 5e5}, 128);
  for (std::size_t i = 0; i < 64; ++i) {
    INFO(i);
    if (i <= 28) CHECK(wide[i] == wide_plain[i]);
    else if (i <= 34) CHECK((wide[i] < wide_plain[i] && wide[i] > wide_plain[i] / 8));
    else CHECK(close(wide[i] * 8, wide_plain[i], 1e-15));
  }
}

TEST_CASE("R5: the base shows in the second frequency") {
  CHECK(close(inverse_frequencies(Rope{.theta = 5e5}, 4)[1], 1.4142136e-3, 1e-10));
  CHECK(close(inverse_frequencies(Rope{.theta = 1e4}, 4)[1], 1e-2, 1e-12));
}

TEST_CASE("linear scaling divides every frequency; a partial width leaves the rest of the head alone") {
  const auto scaled = inverse_frequencies(Rope{.theta = 1e4, .rotary_dim = 4, .scaling = LinearScaling{4}}, 10);
  REQUIRE(scaled.size() == 2);
  CHECK(close(scaled[0], 0.25, 1e-15));
  CHECK(close(scaled[1], 0.0025, 1e-15));
  double x[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  rotate(x, scaled, 4);  // by 1 and by 0.01 radians, as in R1
  const double expected[4] = {-1.9841106, 1.9599007, 2.4623779, 4.0197997};
  for (int i = 0; i < 4; ++i) CHECK(close(x[i], expected[i], 1e-7));
  for (int i = 4; i < 10; ++i) CHECK(x[i] == i + 1);
}

TEST_CASE("N1, P2: softmax neither overflows nor floors") {
  for (auto scores : {std::vector<double>{100, 99}, {-1000, -1001}, {-20000, -20001}}) {
    const auto weights = softmax_of(scores);
    CHECK(close(weights[0], 0.7310586, 1e-7));
    CHECK(close(weights[1], 0.2689414, 1e-7));
  }
  CHECK(softmax_of({5.0}) == std::vector<double>{1.0});
}

TEST_CASE("P2: a query that sees nothing gives zeros") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(softmax_of({-inf, -inf}) == std::vector<double>{0, 0});
  Vector<double> query(1);
  query << 1;
  const std::vector<double> keys{1, 1}, values{1, 3};
  const auto key = [&](int i) { return ConstRow<double>(&keys[static_cast<std::size_t>(i)], 1); };
  const auto value = [&](int i) { return ConstRow<double>(&values[static_cast<std::size_t>(i)], 1); };
  CHECK(attend<double>(query, 0, {1.0, {}}, key, value)[0] == 0);
  CHECK(attend<double>(query, 2, {1.0, {}}, key, value)[0] == 2);
}

TEST_CASE("NaN is never swallowed by softmax") {
  for (double weight : softmax_of({1.0, std::nan(""), 2.0})) CHECK(weight != weight);
}

TEST_CASE("norms") {
  Vector<double> x(4), ones = Vector<double>::Ones(4);
  x << 1, 2, 3, 4;
  const auto rms = rms_norm<double>(x, ones, 1e-5);  // / sqrt(7.5 + 1e-5)
  for (int i = 0; i < 4; ++i) CHECK(close(rms[i], (i + 1) / 2.73861461326708, 1e-9));
  NormFactors<double> factors{ones * 2, ones};
  const auto layer = layer_norm<double>(x, factors, 1e-5);  // (x - 2.5) / sqrt(1.25 + 1e-5) * 2 + 1
  for (int i = 0; i < 4; ++i) CHECK(close(layer[i], (i - 1.5) / 1.11803846087690561 * 2 + 1, 1e-9));
}

TEST_CASE("activations") {  // mpmath, 30 digits
  CHECK(close(activate(Activation::silu, 1.5), 1.22636171429046549, 1e-14));
  CHECK(close(activate(Activation::gelu, 1.5), 1.39978919809671290, 1e-14));
  CHECK(close(activate(Activation::gelu_tanh, 1.5), 1.39957157698023292, 1e-14));
  CHECK(close(activate(Activation::gelu, -0.7), -0.169374556556151110, 1e-14));
  CHECK(activate(Activation::relu, -2.0) == 0);
  CHECK(activate(Activation::relu, 2.0) == 2);
  for (Activation a : {Activation::silu, Activation::gelu, Activation::gelu_tanh, Activation::relu}) {
    CHECK(activate(a, std::nan("")) != activate(a, std::nan("")));
    CHECK(close(activate(a, 90.0F), 90.0, 1e-4));
    CHECK(close(activate(a, -90.0F), 0.0, 1e-4));
  }
}
