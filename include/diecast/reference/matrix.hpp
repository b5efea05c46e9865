// Eigen's types as the reference uses them, and the one matrix product: y = W x + b, a row of x at a time.
// One row at a time because a matrix product of several rows rounds differently from that of one: here a token's numbers are the
// same bits whatever stands beside it. Blocks of W's rows are visited by all tokens while they are in the processor's cache.
#pragma once

#include <diecast/reference/eigen.hpp>

#include <vector>

#include <diecast/files/decode.hpp>
#include <diecast/files/weights.hpp>
#include <diecast/isa.hpp>
#include <diecast/reference/workers.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::reference::inline DIECAST_ISA {

template <class Real>
using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Real>
using ConstRow = Eigen::Map<const Vector<Real>>;  // a row of a Matrix as a vector

template <class Real>
ConstRow<Real> row_of(const Matrix<Real>& matrix, Eigen::Index row) {
  return {matrix.data() + row * matrix.cols(), matrix.cols()};
}

template <class Real>
Matrix<Real> decode_matrix(const Tensor& tensor, Workers& workers) {  // [rows, cols]
  Matrix<Real> matrix(tensor.rows, tensor.cols);
  constexpr int rows_a_piece = 64;
  const auto pieces = static_cast<int>((tensor.rows + rows_a_piece - 1) / rows_a_piece);
  workers.run(pieces, [&](int piece) {
    std::vector<float> decoded(static_cast<std::size_t>(tensor.cols));
    const Eigen::Index end = std::min<Eigen::Index>(tensor.rows, Eigen::Index{piece + 1} * rows_a_piece);
    for (Eigen::Index row = Eigen::Index{piece} * rows_a_piece; row < end; ++row) {
      decode_row(tensor, row, decoded);
      for (Eigen::Index column = 0; column < tensor.cols; ++column) matrix(row, column) = static_cast<Real>(decoded[static_cast<std::size_t>(column)]);
    }
  });
  return matrix;
}

template <class Real>
Vector<Real> decode_vector(const Tensor& tensor) {  // [cols]
  Workers alone(1);
  return decode_matrix<Real>(tensor, alone).row(0).transpose();
}

template <class Real>
struct Linear {
  Matrix<Real> weight;  // [out, in]
  Vector<Real> bias;    // [out], or empty
};

template <class Real>
Linear<Real> decode_linear(const LinearWeights& weights, Workers& workers) {
  return {decode_matrix<Real>(weights.weight, workers), weights.bias ? decode_vector<Real>(*weights.bias) : Vector<Real>()};
}

// x W^T + b
template <class Real>
Matrix<Real> multiply(const Matrix<Real>& x, const Matrix<Real>& weight, const Vector<Real>& bias, Workers& workers) {  // [tokens, in] -> [tokens, out]
  Matrix<Real> y(x.rows(), weight.rows());
  constexpr int rows_a_piece = 48;
  const auto pieces = static_cast<int>((weight.rows() + rows_a_piece - 1) / rows_a_piece);
  workers.run(pieces, [&](int piece) {
    const Eigen::Index first = Eigen::Index{piece} * rows_a_piece;
    const Eigen::Index rows = std::min<Eigen::Index>(rows_a_piece, weight.rows() - first);
    Vector<Real> out(rows);
    for (Eigen::Index token = 0; token < x.rows(); ++token) {
      out.noalias() = weight.middleRows(first, rows) * row_of(x, token);
      if (bias.size() > 0) out += bias.segment(first, rows);
      y.row(token).segment(first, rows) = out.transpose();
    }
  });
  return y;
}

template <class Real>
Matrix<Real> multiply(const Matrix<Real>& x, const Linear<Real>& linear, Workers& workers) {
  return multiply(x, linear.weight, linear.bias, workers);
}

}  // namespace diecast::reference::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
