#pragma once
#include <gradual/autodiff/lifetimes.hpp>
#include <gradual/autodiff/ops/matmul.hpp>
#include <gradual/autodiff/ops/uses.hpp>
#include <gradual/autodiff/shadow.hpp>
#include <gradual/cuda/gemm_form.hpp>

namespace gradual::cuda {

/// Whether a library computes node `node` of a graph, where a window's sums are held in S: a product of floats or of 16-bit
/// numbers. Wider sums, sums of several uses and products of no numbers, which no library takes, stay with the kernels here.
template <class S>
constexpr bool is_library_product(const Node* nodes, const Node& node) {
  if (node.op->kind != Kind::contract && node.op->kind != Kind::batch_contract) return false;
  const Node &a = nodes[node.in[0]], &b = nodes[node.in[1]];
  if (computed_in(a.dtype) != DType::f32 || a.shape.unit() == 0 || b.shape.unit() == 0) return false;
  const bool of_uses = is<Uses>(a) || is<Uses>(b);
  return node.op->kind == Kind::contract || (std::is_same_v<S, float> && !of_uses);
}

/// Returns the form of such a product of `capacity` samples. A matrix stored by rows is, read by columns, its transpose: the
/// library computes Cᵀ = op(B)ᵀ·op(A)ᵀ, so that the right operand is its first one.
constexpr GemmForm library_product(const Node* nodes, const Node& node, std::int64_t capacity, Precision precision) {
  const Shape &a = nodes[node.in[0]].shape, &c = node.shape;
  const std::int64_t samples = c.batched() ? capacity : 1;
  GemmForm form;
  form.precision = precision;
  form.operands = nodes[node.in[0]].dtype;
  form.result = node.dtype;
  form.m = c.extent[c.rank - 1];
  if (node.op->kind == Kind::batch_contract) {  // Aᵀ·B, over the rows of all samples
    form.n = a.extent[1];
    form.k = a.extent[0] * capacity;
    form.transpose_b = true;
    return form;
  }
  const ProductForm p = product_of(node, a);
  form.transpose_b = p.trans_a;
  form.transpose_a = p.trans_b;
  form.n = p.m * (c.rank > 2 ? 1 : samples);
  form.k = p.k;
  form.count = p.stack * (c.rank > 2 ? samples : 1);
  return form;
}

}  // namespace gradual::cuda
