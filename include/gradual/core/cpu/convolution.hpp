#pragma once
#include <algorithm>
#include <cstddef>

#include <gradual/core/cpu/pack.hpp>
#include <gradual/core/cpu/part.hpp>
#include <gradual/core/cpu/shifted_image.hpp>
#include <gradual/core/cpu/tile.hpp>

namespace gradual::cpu {

namespace detail {

/// The outputs of a convolution that meet elements under the same taps, as a convolution of images without zeros between
/// elements. A convolution whose images have none is its own single phase.
struct ConvolutionPhase {
  const Convolution& whole;
  const AxisPhase &y, &x;
  Convolution form{whole.channels, whole.outputs, y.axis, x.axis, false, whole.groups};

  /// Returns the whole convolution's tap at a place in the phase; `taps_before` counts the phase's taps before such a tap.
  constexpr std::int64_t tap(std::int64_t place) const {
    const std::int64_t column = place % form.x.kernel, row = place / form.x.kernel % form.y.kernel;
    return (place / (form.x.kernel * form.y.kernel) * whole.y.kernel + y.tap + row * y.tap_step) * whole.x.kernel + x.tap +
           column * x.tap_step;
  }
  constexpr std::int64_t taps_before(std::int64_t tap) const {
    const std::int64_t column = tap % whole.x.kernel, row = tap / whole.x.kernel % whole.y.kernel;
    return (tap / (whole.x.kernel * whole.y.kernel) * form.y.kernel + y.places_before(row)) * form.x.kernel +
           (y.has_place(row) ? x.places_before(column) : 0);
  }
  /// Whether both read images alike, and so may share one copy: all phases do if a stride is as long as the kernel.
  constexpr bool reads_as(const ConvolutionPhase& other) const {
    return y.axis == other.y.axis && x.axis == other.x.axis;
  }
};

/// The kernel of one phase in its part of a workspace. Phases that read images as the first one does use its copy, after it.
template <class T>
class PhaseKernel {
 public:
  /// Returns the elements of workspace that a phase takes.
  static constexpr std::int64_t elements(const ConvolutionPhase& phase, bool copies_images) {
    return without_image(phase) + (copies_images ? whole_vectors(ShiftedImage<T>::elements(phase.form)) : 0);
  }

  /// `first`: where the memory of the first phase begins.
  PhaseKernel(const ConvolutionPhase& phase, T* memory, bool copies_images, T* first)
      : phase_(phase), offsets_(reinterpret_cast<std::int64_t*>(memory)), weights_(memory + offset_elements(phase)),
        image_(phase.form, (copies_images ? memory : first) + without_image(phase)), copies_images_(copies_images) {}

  /// Prepares for the first image. `w`: all weights of the whole convolution.
  void prepare(const T* w) const {
    const Convolution &whole = phase_.whole, &form = phase_.form;
    if (form.taps() == 0) return;
    if (copies_images_) image_.clear();
    typename ShiftedImage<T>::Tap place(image_, 0);
    const std::int64_t taps = form.taps(), step = whole.weight(1, 0) - whole.weight(0, 0);  // from one output to the next
    for (std::int64_t tap = 0; tap < taps; ++tap, ++place) offsets_[tap] = place.offset();
    if (weight_elements(phase_) == 0) return;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const T* from = w + whole.weight(0, phase_.tap(tap));
      T* to = weights_ + tap;
      for (std::int64_t group = 0; group < whole.groups; ++group, from += whole.weights(), to += form.weights())
        for (std::int64_t o = 0; o < whole.outputs; ++o) to[o * taps] = from[o * step];
    }
  }
  /// Computes the phase's outputs of one group of an image, [outputs, rows, columns], at its share of the positions.
  void run(const T* x, const T* w, std::int64_t group, T* y, Part share) const {
    const Convolution& form = phase_.form;
    const std::int64_t taps = form.taps(), positions = form.positions();
    const auto [first, last] = share.of(positions, panel_columns<T>);
    if (taps == 0) {
      for (std::int64_t o = 0; o < form.outputs; ++o) std::fill_n(y + o * positions + first, last - first, T(0));
      return;
    }
    if (copies_images_) image_.load(x);
    TileTask<T> tile{};
    tile.row = positions;
    tile.a_row = taps;
    tile.a_step = 1;
    const T* const weights = (weight_elements(phase_) == 0 ? w : weights_) + group * form.weights();
    for (std::int64_t tap = 0, stop = 0; tap < taps; tap = stop) {
      stop = phase_.taps_before((phase_.tap(tap) / canonical_block + 1) * canonical_block);
      if (stop > taps) stop = taps;
      tile.k = stop - tap;
      tile.first = tap == 0;
      tile.a = weights + tap;
      tile.b_offset = offsets_ + tap;
      tile.total = y + first;
      tile.b = image_.data() + first;
      run_few_rows<ScatteredTiles>(tile, form.outputs, last - first);
    }
  }

 private:
  static constexpr std::int64_t offset_elements(const ConvolutionPhase& phase) {
    return whole_vectors(phase.form.taps() * static_cast<std::int64_t>(sizeof(std::int64_t) / sizeof(T)));
  }
  /// Returns 0 if weights are read where they lie.
  static constexpr std::int64_t weight_elements(const ConvolutionPhase& phase) {
    const bool packs = phase.whole.flipped || phase.form.taps() < phase.whole.taps();
    return packs ? whole_vectors(phase.whole.groups * phase.form.weights()) : 0;
  }
  static constexpr std::int64_t without_image(const ConvolutionPhase& phase) {
    return offset_elements(phase) + weight_elements(phase);
  }

  ConvolutionPhase phase_;
  std::int64_t* offsets_;
  T* weights_;
  ShiftedImage<T> image_;
  bool copies_images_;
};

/// Interleaves the results of one row phase and every column phase, stored one after another as [outputs, rows, columns], into
/// the output image.
template <class T>
void interleave(const Convolution& c, const AxisPhase& y, const AxisPhase* x, const T* from, T* to) {
  const std::int64_t phases = c.x.phases(), rows = c.outputs * y.axis.out;
  for (std::int64_t row = 0; row < rows; ++row) {
    T* const line = to + (row / y.axis.out * c.y.out + y.first + row % y.axis.out * y.step) * c.x.out;
    const T* part = from;
    if (phases == 2) {  // a known number of phases is vectorised
      const std::int64_t even = x[0].axis.out, odd = x[1].axis.out;
      const T *const a = part + row * even, *const b = part + rows * even + row * odd;
      for (std::int64_t j = 0; j < odd; ++j) line[2 * j] = a[j], line[2 * j + 1] = b[j];
      if (odd < even) line[2 * odd] = a[odd];
    } else {
      for (std::int64_t p = 0; p < phases; part += rows * x[p++].axis.out)
        for (std::int64_t j = 0; j < x[p].axis.out; ++j) line[p + j * phases] = part[row * x[p].axis.out + j];
    }
  }
}

/// Returns the elements that the phases of one axis take in memory; `put_phases` writes them.
constexpr std::int64_t phase_elements(const ConvolutionAxis& axis, std::size_t element) {
  return whole_vectors(axis.phases() * static_cast<std::int64_t>(sizeof(AxisPhase) / element));
}
template <class T>
const AxisPhase* put_phases(const ConvolutionAxis& axis, T* memory) {
  auto* const phases = reinterpret_cast<AxisPhase*>(memory);
  for (std::int64_t p = 0; p < axis.phases(); ++p) phases[p] = axis.phase(p);
  return phases;
}

}  // namespace detail

/// Returns the elements of workspace for `convolution`: its phases, the kernel of each, and the outputs of one row phase.
template <class T>
constexpr std::int64_t convolution_space(const Convolution& c) {
  std::int64_t kernels = 0, outputs = 0;
  const AxisPhase first_y = c.y.phase(0), first_x = c.x.phase(0);
  for (std::int64_t i = 0; i < c.y.phases(); ++i) {
    const AxisPhase y = c.y.phase(i);
    for (std::int64_t j = 0; j < c.x.phases(); ++j) {
      const AxisPhase x = c.x.phase(j);
      const detail::ConvolutionPhase phase{c, y, x};
      kernels += detail::PhaseKernel<T>::elements(phase, i + j == 0 || !phase.reads_as({c, first_y, first_x}));
    }
    const std::int64_t of_rows = c.outputs * y.axis.out * c.x.out;
    outputs = outputs < of_rows ? of_rows : outputs;
  }
  const bool one = c.y.phases() * c.x.phases() == 1;
  return kernels + detail::phase_elements(c.y, sizeof(T)) + detail::phase_elements(c.x, sizeof(T)) + (one ? 0 : outputs);
}

/// y[image, o, position] = Σ over taps, in canonical order, of weight · pixel, without taps that meet a zero between elements
/// of the image, which changes no sum. Computes one part: groups of images or, if there is one phase and they are too few for
/// all parts, positions of each.
template <class T>
[[gnu::noinline]] void convolution(const Convolution& c, const T* x, const T* w, T* y, std::int64_t images, T* workspace,
                                   Part part = {}) {
  using Kernel = detail::PhaseKernel<T>;
  const AxisPhase* const row_phases = detail::put_phases(c.y, workspace);
  workspace += detail::phase_elements(c.y, sizeof(T));
  const AxisPhase* const column_phases = detail::put_phases(c.x, workspace);
  workspace += detail::phase_elements(c.x, sizeof(T));
  const std::int64_t row_count = c.y.phases(), column_count = c.x.phases();
  // Calls f(kernel, elements before its outputs among those of its row phase), and g(row phase) after the kernels of each.
  const auto for_kernels = [&](auto f, auto g) __attribute__((always_inline)) {
    T* memory = workspace;
    for (std::int64_t i = 0; i < row_count; ++i) {
      std::int64_t before = 0;
      for (std::int64_t j = 0; j < column_count; ++j) {
        const detail::ConvolutionPhase phase{c, row_phases[i], column_phases[j]};
        const bool copies = i + j == 0 || !phase.reads_as({c, row_phases[0], column_phases[0]});
        f(Kernel(phase, memory, copies, workspace), before);
        memory += Kernel::elements(phase, copies);
        before += phase.form.result();
      }
      g(row_phases[i]);
    }
    return memory;
  };
  T* const outputs = for_kernels([&](const Kernel& kernel, std::int64_t) { kernel.prepare(w); }, [](const AxisPhase&) {});
  const bool one = row_count * column_count == 1;
  const bool by_positions = one && images * c.groups < part.count;
  const auto [first, last] = by_positions ? Part::Range{0, images * c.groups} : part.of(images * c.groups);
  for (std::int64_t i = first; i < last; ++i) {
    T* const to = y + i * c.result();
    for_kernels(
        [&](const Kernel& kernel, std::int64_t before) {
          kernel.run(x + i * c.image(), w, i % c.groups, one ? to : outputs + before, by_positions ? part : Part{});
        },
        [&](const AxisPhase& rows) {
          if (!one) detail::interleave(c, rows, column_phases, outputs, to);
        });
  }
}

}  // namespace gradual::cpu
