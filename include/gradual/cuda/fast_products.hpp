#pragma once
#include <memory>
#include <vector>

#include <gradual/cuda/epilogue.hpp>
#include <gradual/cuda/executor.hpp>
#include <gradual/cuda/gemm.hpp>

namespace gradual::cuda {

/// Clears what lies behind the samples of a micro-batch in both operands of a product over samples; units are those of one.
template <class T>
GRADUAL_KERNEL void clear_beyond(T* a, std::int64_t a_unit, T* b, std::int64_t b_unit, std::int64_t capacity,
                                 const Step* step) {
  for (std::int64_t i = step->batch * a_unit + global_thread(); i < capacity * a_unit; i += global_threads()) a[i] = T{};
  for (std::int64_t i = step->batch * b_unit + global_thread(); i < capacity * b_unit; i += global_threads()) b[i] = T{};
}

/// Products by cuBLASLt, of the plan's capacity whatever the micro-batch: rows beyond it hold anything, and only products
/// over samples read them, which clear them first. Weight gradients are added to the window's sums by the product itself.
template <Precision Used>
class FastProducts {
 public:
  template <class P>
  static constexpr std::int64_t workspace_bytes(std::int64_t batch) {
    const std::int64_t of_library = library_workspace<P>() > 0 ? library_workspace<P>() + library_alignment : 0;
    const std::int64_t of_others = split_workspace<P>(batch, [](int node) { return !taken<P>(node); });
    return of_library < of_others ? of_others : of_library;
  }
  template <class S>
  static constexpr bool sums_in_blocks(const Node* nodes, const Node& node) {
    return !is_library_product<S>(nodes, node);
  }
  /// Whether sums begin and whether rows must be cleared is not read from the `Step`.
  static constexpr int variant(const StepArguments& a, std::int64_t capacity) {
    return (a.first ? 1 : 0) + (a.batch < capacity ? 2 : 0);
  }
  template <class P>
  static constexpr bool all_here() {
    bool any = false;
    for (int i = 0; i < P::nodes; ++i) any |= taken<P>(i);
    return !any;
  }
  void plan() { planned_.clear(); }

  template <class P, int Id>
  void run(const Launch& launch) {
    if constexpr (taken<P>(Id)) multiply<P, Id>(launch);
    else ContractionLaunch<P, Id>::run(launch);
  }
  /// Whether the product that was run last has done loop G of the program, too.
  template <class P, int G>
  bool did() const {
    if constexpr (follows_product<P>(G)) return did_loop_;
    else return false;
  }

 private:
  template <class P>
  static constexpr bool taken(int node) {
    return is_library_product<typename P::Shadow>(P::graph.nodes, P::graph.nodes[node]);
  }

  /// The loop behind the product that is node `id`, where a library computes both.
  template <class P>
  static constexpr LoopBehind behind(int id) {
    return taken<P>(id) ? loop_behind<P>(id) : LoopBehind{};
  }
  template <class P>
  static constexpr bool follows_product(int group) {
    return group > 0 && P::schedule.groups[group - 1].kind == Kind::contract &&
           behind<P>(P::schedule.members[P::schedule.groups[group - 1].first]).group == group;
  }

  struct Planned {
    const char* key;
    std::int64_t alignment;  // samples come to two places
    bool does_loop;          // behind it
    Gemm gemm;
  };
  template <class P, int Id>
  static constexpr char key = 0;  // its address tells one program's product from another's

  template <class P, int Id>
  void multiply(const Launch& launch) {
    constexpr Node node = P::template node<Id>;
    const StepArguments& s = launch.arguments;
    using E = ElementOf<P::template node<node.in[0]>.dtype>;
    const auto at = [&](int k) { return static_cast<E*>(s.address[P::schedule.storage[node.in[k]]]); };
    E *const left = at(0), *const right = at(1);
    void* const result = s.address[Id];
    if constexpr (node.op->kind == Kind::batch_contract) {
      constexpr std::int64_t left_unit = P::template node<node.in[0]>.shape.unit();
      constexpr std::int64_t right_unit = P::template node<node.in[1]>.shape.unit();
      if (s.batch < launch.capacity)
        launch.stream.launch(&clear_beyond<E>, blocks_for(launch.capacity * (left_unit + right_unit), map_threads),
                             map_threads, left, left_unit, right, right_unit, launch.capacity, launch.step);
    }
    const std::int64_t alignment = alignment_of(left, right, result);
    const GemmForm form = library_product(P::graph.nodes, node, launch.capacity, Used);
    const Planned& product = planned(&key<P, Id>, alignment, [&]() -> Planned {
      constexpr LoopBehind loop = behind<P>(Id);
      if constexpr (loop.epilogue != Epilogue::none) {
        const float* const bias = static_cast<const float*>(s.address[loop.bias]);
        GemmForm both = form;
        both.epilogue = loop.epilogue;
        if (alignment_of(bias) >= bias_alignment)
          if (const auto found = library_.find(both, bias, alignment, library_workspace<P>()))
            return {&key<P, Id>, alignment, true, *found};
      }
      const auto found = library_.find(form, nullptr, alignment, library_workspace<P>());
      if (!found)
        throw DeviceError("cublasLtMatmulAlgoGetHeuristic: no algorithm for " + std::to_string(form.count) +
                          " products of " + std::to_string(form.m) + " x " + std::to_string(form.k) + " and " +
                          std::to_string(form.k) + " x " + std::to_string(form.n));
      return {&key<P, Id>, alignment, false, *found};
    });
    did_loop_ = product.does_loop;
    const bool adds = node.op->kind == Kind::batch_contract && !s.first;
    std::size_t room = library_workspace<P>() + library_alignment;
    void* workspace = s.workspace;
    std::align(library_alignment, library_workspace<P>(), workspace, room);  // there is room for it
    library_.run(product.gemm, launch.stream, right, left, adds ? 1.0f : 0.0f, result, workspace,
                 library_workspace<P>());
  }

  /// Products are planned where they are run for the first time, before anything is recorded.
  template <class Make>
  const Planned& planned(const char* wanted, std::int64_t alignment, Make make) {
    for (const Planned& p : planned_)
      if (p.key == wanted && p.alignment == alignment) return p;
    planned_.push_back(make());
    return planned_.back();
  }

  /// The largest power of two that divides all addresses, at most `library_alignment`.
  template <class... Pointer>
  static std::int64_t alignment_of(Pointer... at) {
    const auto bits = (reinterpret_cast<std::uintptr_t>(at) | ... | std::uintptr_t{library_alignment});
    return static_cast<std::int64_t>(bits & (~bits + 1));
  }

  static constexpr std::int64_t bias_alignment = 16;  // what cuBLASLt is reported to want of biases

  bool did_loop_ = false;
  GemmLibrary library_;
  std::vector<Planned> planned_;
};

}  // namespace gradual::cuda
