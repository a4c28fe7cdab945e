#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <gradual/cuda/executor.hpp>
#include <gradual/cuda/gemm.hpp>
#include <gradual/cuda/library_work.hpp>
#include <gradual/cuda/loop_behind.hpp>

namespace gradual::cuda {

/// Clears both operands of a sum over samples beyond the samples of a micro-batch; units are those of one sample.
template <class T>
GRADUAL_KERNEL void clear_beyond(T* a, std::int64_t a_unit, T* b, std::int64_t b_unit, std::int64_t capacity,
                                 const Step* step) {
  for (std::int64_t i = step->batch * a_unit + global_thread(); i < capacity * a_unit; i += global_threads()) a[i] = T{};
  for (std::int64_t i = step->batch * b_unit + global_thread(); i < capacity * b_unit; i += global_threads()) b[i] = T{};
}

/// Computes products by cuBLASLt and, where it is linked, convolutions by cuDNN, always for the plan's whole capacity: rows
/// beyond the micro-batch hold anything, and only sums over samples read them, after clearing them. The library itself adds
/// these sums to the window's.
template <Precision Used>
class FastProducts {
 public:
  template <class P>
  static constexpr std::int64_t workspace_bytes(std::int64_t batch) {
    const std::int64_t asked_for = std::max(product_workspace<P>(), convolution_workspace<P>(batch, Used));
    const std::int64_t of_library = asked_for > 0 ? asked_for + library_alignment : 0;
    const std::int64_t of_others = split_workspace<P>(batch, [](int node) { return !is_library_work<P>(node); });
    return std::max(of_library, of_others);
  }
  template <class S>
  static constexpr bool sums_in_blocks(const Node* nodes, const Node& node) {
    return !is_library_work<S>(nodes, node);
  }
  /// Whether sums begin and whether rows must be cleared: libraries do not read that from the `Step`.
  static constexpr int variant(const StepArguments& a, std::int64_t capacity) {
    return (a.first ? 1 : 0) + (a.batch < capacity ? 2 : 0);
  }
  template <class P>
  static constexpr bool all_here() {
    bool any = false;
    for (int i = 0; i < P::nodes; ++i) any |= is_library_work<P>(i);
    return !any;
  }
  void plan() {
    products_.clear();
    convolutions_.clear();
  }

  template <class P, int Id>
  void run(const Launch& launch) {
    if constexpr (!is_library_work<P>(Id)) {
      ContractionLaunch<P, Id>::run(launch);
    } else {
      constexpr Kind kind = P::template node<Id>.op->kind;
      if constexpr (is_sample_sum(kind)) clear_rows<P, Id>(launch);
      if constexpr (kind == Kind::convolve || kind == Kind::batch_convolve) convolve<P, Id>(launch);
      else multiply<P, Id>(launch);
    }
  }
  /// Whether the product that ran last has already done loop G of the program.
  template <class P, int G>
  bool did() const {
    if constexpr (follows_product<P>(G)) return did_loop_;
    else return false;
  }

 private:
  /// Returns the loop after the product that is node `id`, where a library computes both.
  template <class P>
  static constexpr LoopBehind behind(int id) {
    return is_library_work<P>(id) ? loop_behind<P>(id) : LoopBehind{};
  }
  template <class P>
  static constexpr bool follows_product(int group) {
    return group > 0 && P::schedule.groups[group - 1].kind == Kind::contract &&
           behind<P>(P::schedule.members[P::schedule.groups[group - 1].first]).group == group;
  }

  struct PlannedProduct {
    const char* key;
    std::int64_t alignment;  // may vary: samples have two places
    bool does_loop;          // the one after it
    std::optional<Gemm> gemm;
  };
  struct PlannedConvolution {
    const char* key;
    std::int64_t alignment;
    bool adds;
    std::optional<LibraryConvolution> found;
  };
  template <class P, int Id>
  static constexpr char key = 0;  // its address identifies a product of a program

  template <class P, int Id>
  static auto* operand(const StepArguments& s, int k) {
    constexpr Node node = P::template node<Id>;
    return static_cast<ElementOf<P::template node<node.in[0]>.dtype>*>(s.address[P::schedule.storage[node.in[k]]]);
  }
  static void* workspace(const StepArguments& s, std::int64_t bytes) {
    std::size_t room = bytes + library_alignment;
    void* at = s.workspace;
    return std::align(library_alignment, bytes, at, room);  // there is room for it
  }

  template <class P, int Id>
  void clear_rows(const Launch& launch) {
    constexpr Node node = P::template node<Id>;
    constexpr std::int64_t left_unit = P::template node<node.in[0]>.shape.unit();
    constexpr std::int64_t right_unit = P::template node<node.in[1]>.shape.unit();
    const StepArguments& s = launch.arguments;
    auto *const left = operand<P, Id>(s, 0), *const right = operand<P, Id>(s, 1);
    if (s.batch < launch.capacity)
      launch.stream.launch(&clear_beyond<std::remove_pointer_t<decltype(left)>>,
                           blocks_for(launch.capacity * (left_unit + right_unit), map_threads), map_threads, left,
                           left_unit, right, right_unit, launch.capacity, launch.step);
  }

  template <class P, int Id>
  void multiply(const Launch& launch) {
    constexpr Node node = P::template node<Id>;
    const StepArguments& s = launch.arguments;
    const void *const left = operand<P, Id>(s, 0), *const right = operand<P, Id>(s, 1);
    void* const result = s.address[Id];
    const std::int64_t alignment = alignment_of(left, right, result);
    const GemmForm form = library_product(P::graph.nodes, node, launch.capacity, Used);
    constexpr std::int64_t most = product_workspace<P>();
    const auto same = [&](const PlannedProduct& p) { return p.key == &key<P, Id> && p.alignment == alignment; };
    const PlannedProduct& product = planned(products_, same, [&]() -> PlannedProduct {
      constexpr LoopBehind loop = behind<P>(Id);
      if constexpr (loop.epilogue != Epilogue::none) {
        const float* const bias = static_cast<const float*>(s.address[loop.bias]);
        GemmForm both = form;
        both.epilogue = loop.epilogue;
        if (alignment_of(bias) >= bias_alignment)
          if (const auto found = library_.find(both, bias, alignment, most))
            return {&key<P, Id>, alignment, true, found};
      }
      return {&key<P, Id>, alignment, false, library_.find(form, nullptr, alignment, most)};
    });
    did_loop_ = product.does_loop;
    if (!product.gemm) return multiply_here<P, Id>(form, launch);
    const bool adds = is_sample_sum(node.op->kind) && !s.first;
    library_.run(*product.gemm, launch.stream, right, left, adds ? 1.0f : 0.0f, result, workspace(s, most), most);
  }
  /// For products that the library does not support: it may refuse stacks of more than 65535.
  template <class P, int Id>
  static void multiply_here(const GemmForm& form, const Launch& launch) {
    if constexpr (P::template node<Id>.shape.rank > 2) {
      ContractionLaunch<P, Id>::run(launch);
    } else {
      throw DeviceError("cublasLtMatmulAlgoGetHeuristic: no algorithm for " + std::to_string(form.m) + " x " +
                        std::to_string(form.k) + " by " + std::to_string(form.k) + " x " + std::to_string(form.n));
    }
  }

  template <class P, int Id>
  void convolve(const Launch& launch) {
    constexpr Node node = P::template node<Id>;
    const StepArguments& s = launch.arguments;
    void *const left = operand<P, Id>(s, 0), *const right = operand<P, Id>(s, 1), *const result = s.address[Id];
    const std::int64_t alignment = alignment_of(left, right, result);
    ConvolutionForm form = library_convolution(P::graph.nodes, node, launch.capacity, Used);
    form.adds = is_sample_sum(node.op->kind) && !s.first;
    const std::int64_t most = convolution_workspace<P>(launch.capacity, Used);
    if (!convolution_library_) convolution_library_.emplace();
    const auto same = [&](const PlannedConvolution& c) {
      return c.key == &key<P, Id> && c.alignment == alignment && c.adds == form.adds;
    };
    const auto& found = planned(convolutions_, same, [&]() -> PlannedConvolution {
      return {&key<P, Id>, alignment, form.adds, convolution_library_->find(form, alignment, most)};
    }).found;
    if (!found) return compute_here<P, Id>(form, launch);
    const auto run = [&](void* images, void* weights, void* outputs) {
      convolution_library_->run(*found, launch.stream, images, weights, outputs, workspace(s, most));
    };
    if (form.part == ConvolutionPart::outputs) run(left, right, result);
    else if (form.part == ConvolutionPart::images) run(result, right, left);
    else run(left, result, right);
  }

  /// For convolutions that the library does not support: the kernels here compute them, except for sums over samples, whose
  /// unfinished blocks have no memory.
  template <class P, int Id>
  static void compute_here(const ConvolutionForm& form, const Launch& launch) {
    if constexpr (!is_sample_sum(P::template node<Id>.op->kind)) {
      ContractionLaunch<P, Id>::run(launch);
    } else {
      const Convolution& c = form.of;
      throw DeviceError("cuDNN: no engine for the weights' gradient of a convolution of " + std::to_string(form.images) +
                        " images [" + std::to_string(c.channels) + ", " + std::to_string(c.y.in) + ", " +
                        std::to_string(c.x.in) + "] with weights [" + std::to_string(c.outputs) + ", " +
                        std::to_string(c.channels) + ", " + std::to_string(c.y.kernel) + ", " +
                        std::to_string(c.x.kernel) + "]");
    }
  }

  /// Returns the plan of a library's work, made when it first runs, before anything is recorded.
  template <class Planned, class Same, class Make>
  static const Planned& planned(std::vector<Planned>& all, Same same, Make make) {
    for (const Planned& p : all)
      if (same(p)) return p;
    all.push_back(make());
    return all.back();
  }

  /// Returns the largest power of two that divides all addresses, at most `library_alignment`.
  template <class... Pointer>
  static std::int64_t alignment_of(Pointer... at) {
    const auto bits = (reinterpret_cast<std::uintptr_t>(at) | ... | std::uintptr_t{library_alignment});
    return static_cast<std::int64_t>(bits & (~bits + 1));
  }

  static constexpr std::int64_t bias_alignment = 16;  // which cuBLASLt is reported to require of biases

  bool did_loop_ = false;
  GemmLibrary library_;
  std::optional<ConvolutionLibrary> convolution_library_;  // takes memory: made only when needed
  std::vector<PlannedProduct> products_;
  std::vector<PlannedConvolution> convolutions_;
};

}  // namespace gradual::cuda
