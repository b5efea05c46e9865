// The sweep over matrix products: formats, widths, rows, grids. Each unit that includes this takes a few formats, to stay small.
#pragma once

#include <catch2/catch.hpp>

#include <cmath>
#include <string>
#include <vector>

#include <diecast/kernels/linear_residual.hpp>

#include "inputs.hpp"

namespace diecast_test {

using namespace diecast::kernels;

// out += scale * (W x + b) of LinearResidual against a loop in double; out of whole numbers must be exact.
template <Extents extents, FormSet set, Team team, Ending ending>
int wrong_products(diecast::Format format, int rows, int blocks, bool exact, std::uint64_t seed) {
  Numbers numbers(seed);
  const diecast::Tensor tensor = random_tensor(format, extents.out, extents.in, numbers, exact);
  const std::vector<float> weights = decoded(tensor);
  const std::vector<float> bias = rows % 2 == 0 ? std::vector<float>{} : numbers.whole(extents.out, 5);
  std::vector<float> x = exact ? numbers.whole(rows * extents.in, 9) : numbers.reals(rows * extents.in);
  const bool integers = diecast::cuda::form_of(format).integers();
  if (exact && integers)
    for (std::size_t i = 0; i < x.size(); i += 32) x[i] = 127;  // so that the scale of every 32 is 1
  const std::vector<float> before = numbers.whole(rows * extents.out, 7);
  const float scale = exact ? 2.0f : 0.22f;
  using Op = LinearResidual<extents, ending, set, team>;
  const Matrix<set> matrix(tensor, bias);
  const Step step = Step::of(rows);
  const Constants<float> in(x);
  Floats out(before);
  launch_once<Op>(blocks, {step.rows(), matrix.linear(), in.data(), out.data(), scale});
  const std::vector<float> got = out.all();
  int wrong = 0;
  for (int row = 0; row < rows; ++row) {
    const std::vector<float> of_row(x.begin() + row * extents.in, x.begin() + (row + 1) * extents.in);
    const std::vector<double> multiplied = as_multiplied(of_row, integers);
    for (int o = 0; o < extents.out; ++o) {
      double sum = 0, size = 0;
      for (int i = 0; i < extents.in; ++i) {
        const double product =
            static_cast<double>(weights[static_cast<std::size_t>(o * extents.in + i)]) * multiplied[static_cast<std::size_t>(i)];
        sum += product;
        size += std::abs(product);
      }
      if (!bias.empty()) sum += static_cast<double>(bias[static_cast<std::size_t>(o)]);
      const double begin = static_cast<double>(before[static_cast<std::size_t>(row * extents.out + o)]);
      const double want = ending == Ending::add ? begin + static_cast<double>(scale) * sum : sum;
      // Each lane adds at most width / 32 + 8 terms, then five more additions; a decoded weight and a scale are rounded once each.
      const double bound = exact ? 0 : (extents.in / 32 + 8 + 5 + 4) * 0x1p-23 * (2 * size + 8 + std::abs(begin));
      wrong += !within(got[static_cast<std::size_t>(row * extents.out + o)], want, bound);
    }
  }
  return wrong;
}

// Every format of a set, both endings, as many rows as the team takes at once and more, grids smaller and larger than the work.
template <Extents extents, FormSet set, Team team>
int sweep_products(const std::vector<diecast::Format>& formats, std::uint64_t seed) {
  int cases = 0;
  for (const diecast::Format format : formats)
    for (const int rows : {1, 2, 5})
      for (const int blocks : {1, 3})
        for (const bool exact : {true, false}) {
          INFO(diecast::layout(format).name << " [" << extents.out << ", " << extents.in << "], " << rows << " rows, " << blocks
                                            << " blocks, exact " << exact);
          CHECK(wrong_products<extents, set, team, Ending::add>(format, rows, blocks, exact, seed + static_cast<std::uint64_t>(cases)) ==
                0);
          CHECK(wrong_products<extents, set, team, Ending::leave>(format, rows, blocks, exact, seed + static_cast<std::uint64_t>(cases)) ==
                0);
          cases += 2;
        }
  return cases;
}

}  // namespace diecast_test
