#pragma once
#include <gradual/autodiff/addresses_of_uses.hpp>
#include <gradual/autodiff/cpu/window_part_of.hpp>
#include <gradual/autodiff/ops/matmul.hpp>
#include <gradual/core/cpu/contraction_of_uses.hpp>
#include <gradual/core/cpu/held_rows.hpp>
#include <gradual/core/cpu/small_float_matmul.hpp>

namespace gradual::cpu {

/// Whether small products have code for exactly their sizes: unoptimised, it would be slower than that in gradual::kernels.
#if defined(GRADUAL_SHARED_KERNELS) && !defined(__OPTIMIZE__)
inline constexpr bool knows_sizes = false;
#else
inline constexpr bool knows_sizes = true;
#endif

/// The kernel of matrix product node `Id` of program P: which implementation computes it, and its workspace.
template <class P, int Id>
class MatmulKernel {
  static constexpr Node node = P::template node<Id>;
  static constexpr Shape a_shape = P::template node<node.in[0]>.shape, b_shape = P::template node<node.in[1]>.shape;
  static constexpr ProductForm product = product_of(node, a_shape);  // of a Kind::contract
  static constexpr int rank = node.shape.rank;
  static constexpr std::int64_t columns = product.n, depth = product.k;
  using E = ElementOf<P::template node<node.in[0]>.dtype>;
  using T = Computed<E>;

  static constexpr BatchContractionForm contraction{a_shape.extent[1], columns, a_shape.extent[0]};
  static constexpr HeldRowsForm held_form{contraction.i, contraction.j, contraction.p, contraction.i * contraction.j};

  /// For an operand of a contraction over a window: the number of values in which its rows lie.
  template <int Operand>
  static constexpr int uses = count_of_uses(P::graph.nodes, node.in[Operand]);
  static constexpr bool joins = node.op->kind == Kind::batch_contract && (uses<0> > 1 || uses<1> > 1);
  template <int Operand>
  static constexpr RowsOfUses<E> rows(std::span<const void* const> values) {
    return {values, Operand == 0 ? contraction.i : contraction.j, contraction.p / std::int64_t{uses<Operand>}};
  }

  static constexpr MatmulForm form{columns, depth, product.trans_a, product.trans_b, product.trans_a ? product.m : 0};

 public:
  /// Whether unfinished blocks can be kept as rows.
  static constexpr bool holds_rows = node.op->kind == Kind::batch_contract && !joins && held_form.pays();

  /// Returns the number of samples in such a block.
  static constexpr std::int64_t block_samples() { return gradual::block_samples(contraction.p); }

  static constexpr std::int64_t workspace_bytes() {
    if constexpr (joins)
      return aligned((RowsOfUses<E>::workspace(uses<0>, contraction.i) + RowsOfUses<E>::workspace(uses<1>, contraction.j) +
                      contraction.template workspace<E>()) * std::int64_t{sizeof(T)});
    else if constexpr (node.op->kind == Kind::batch_contract)
      return aligned(contraction.template workspace<E>() * std::int64_t{sizeof(T)});
    else
      return aligned(workspace_of<E>(form) * std::int64_t{sizeof(T)});
  }

  /// Returns multiply-adds for each sample, which decide whether threads pay.
  static constexpr std::int64_t work() {
    if constexpr (node.op->kind == Kind::batch_contract) return a_shape.unit() * columns;
    else return node.shape.unit() * depth;
  }

  GRADUAL_KERNEL_CODE static void run(const StepArguments& s) {
    if constexpr (joins) run_joined(s);
    else run_alone(s);
  }

  /// Keeps rows of blocks that were begun before or that stay unfinished; called before and after `run`.
  template <bool Begun>
  static void hold(const StepArguments& s) {
    held(s).take(Begun, operand<0>(s), operand<1>(s), window(s), s.part);
  }
  /// Sums the held rows when a window has come to sample `s.begin`: into `open` or, if null, into its total.
  static void sum_held(const StepArguments& s, void* open) {
    held(s).template sum_block<T>(s.begin * contraction.p, window(s).total, static_cast<T*>(open), contract(s));
  }

 private:
  template <int Operand>
  static const E* operand(const StepArguments& s) {
    return static_cast<const E*>(s.address[P::template storage<node.in[Operand]>]);
  }
  static auto window(const StepArguments& s) { return window_part_of<P, Id, T>(s, contraction.p); }
  static HeldRows<E> held(const StepArguments& s) { return {held_form, s.open[Id], s.held_from}; }
  static auto contract(const StepArguments& s) {
    return [&s](const E* a, const E* g, const auto& part) {
      contract(a, g, part, reinterpret_cast<T*>(s.workspace), s.part);
    };
  }
  template <class W>
  GRADUAL_INLINE static void contract(const E* a, const E* g, const WindowPart<T, W>& window, T* workspace, Part part) {
    constexpr auto f = contraction;
    if constexpr (knows_sizes) batch_contraction<E, f.i, f.j, f.p>(a, g, window, workspace, part);
    else batch_contraction(f, a, g, window, workspace, part);
  }

  static void run_joined(const StepArguments& s) {
    constexpr std::int64_t p = contraction.p;
    const auto a = addresses_of_uses<P, node.in[0]>(s);
    const auto g = addresses_of_uses<P, node.in[1]>(s);
    contraction_of_uses(rows<0>(a), rows<1>(g), p, window_part_of<P, Id, T>(s, p), reinterpret_cast<T*>(s.workspace),
                        [&](const E* x, const E* y, const auto& block, T* workspace) {
                          contract(x, y, block, workspace, s.part);
                        });
  }

  static void run_alone(const StepArguments& s) {
    const E *const a = operand<0>(s), *const b = operand<1>(s);
    T* workspace = reinterpret_cast<T*>(s.workspace);
    if constexpr (holds_rows) {
      held(s).contract(a, b, window(s), s.part, contract(s));
    } else if constexpr (node.op->kind == Kind::batch_contract) {
      contract(s)(a, b, window(s));
    } else if constexpr (rank == 2) {
      const std::int64_t m = product.m * (node.shape.batched() ? s.batch : 1);
      multiply(a, b, static_cast<E*>(s.address[Id]), m, workspace, s.part);
    } else {
      constexpr std::int64_t m = product.m;
      const std::int64_t stack = product.stack * (node.shape.batched() ? s.batch : 1);
      const auto [first, last] = s.part.of(stack);
      for (std::int64_t i = first; i < last; ++i)
        multiply(a + i * m * depth, b + i * depth * columns, static_cast<E*>(s.address[Id]) + i * m * columns, m, workspace);
    }
  }

  GRADUAL_INLINE static void multiply(const E* a, const E* b, E* c, std::int64_t m, T* workspace, Part part = {}) {
    if constexpr (is_small_float<E> || !knows_sizes) matmul(form, a, b, c, m, workspace, part);
    else matmul<T, product.trans_a, product.trans_b, columns, depth>(a, b, c, m, workspace, part);
  }
};

}  // namespace gradual::cpu
