#pragma once
#include <gradual/autodiff/step_arguments.hpp>
#include <gradual/cuda/contraction.hpp>
#include <gradual/cuda/runtime.hpp>

namespace gradual::cuda {

/// What is needed to launch a kernel. `step` is on the device; `capacity` is the most samples of a micro-batch.
struct Launch {
  const Stream& stream;
  const StepArguments& arguments;
  const Step* step;
  std::int64_t capacity;
};

/// Returns the number of blocks of a launch: enough for all of `work`, or many rounds of every multiprocessor. More, with less
/// work each, took a map from 0.97 to 0.68 of a triad's bandwidth on an H200.
constexpr std::int64_t blocks_for(std::int64_t work, std::int64_t each) {
  constexpr std::int64_t most = 4096;
  const std::int64_t blocks = (work + each - 1) / each;
  return blocks < most ? blocks : most;
}

namespace detail {

template <class Form>
std::int64_t rows(const Form& p, const Launch& launch) {
  return p.m * (p.over == Form::Over::rows ? launch.capacity : 1);
}
template <class Tile, class Form>
std::int64_t tiles(const Form& p, const Launch& launch) {
  using Results = TileOfResults<Tile>;
  const std::int64_t stack = p.stack * (p.over == Form::Over::stack ? launch.capacity : 1);
  return Results::across(p.n) * Results::down(rows(p, launch)) * stack;
}
/// Whether there are tiles for all multiprocessors, if each tile counts once for each of `blocks` blocks.
template <class Tile, class Form>
bool keeps_busy(const Form& p, std::int64_t blocks, const Launch& launch) {
  return tiles<Tile>(p, launch) * blocks >= multiprocessors;
}
/// The same, and whether tiles are more than half full.
template <class Tile, class Form>
bool fills(const Form& p, const Launch& launch) {
  return 2 * rows(p, launch) > Tile::rows && 2 * p.n > Tile::columns && keeps_busy<Tile>(p, 1, launch);
}
template <class Tile, class T, class A, class B, class W>
void start_blocks(const Contraction<T, A, B, W>& p, std::int64_t blocks, const Launch& launch) {
  T* const chains = reinterpret_cast<T*>(launch.arguments.workspace);
  const std::int64_t outputs = p.stack * p.m * p.n;
  launch.stream.launch(&contraction_blocks_kernel<Tile, T, A, B, W>,
                       blocks_for(tiles<Tile>(p, launch) * blocks, 1), Tile::threads, p, chains, launch.step);
  launch.stream.launch(&contraction_totals_kernel<T, W>, blocks_for(outputs, TotalsTile<T>::columns), TotalsTile<T>::threads,
                       p.c, p.chain, static_cast<const T*>(chains), outputs, p.k, launch.step);
}
template <class Tile, class T, class A, class B, class W, class C>
void start_tiles(const Contraction<T, A, B, W, C>& p, const Launch& launch) {
  launch.stream.launch(&contraction_kernel<Tile, T, A, B, W, C>, blocks_for(tiles<Tile>(p, launch), 1),
                       Tile::threads, p, launch.step);
}

}  // namespace detail

using LargeTile = ContractionTile<128, 128, 8>;
using MiddleTile = ContractionTile<64, 64, 4>;
using SmallTile = ContractionTile<32, 32, 2>;
using SmallestTile = ContractionTile<16, 16, 1>;  ///< where the latency of a chain's steps is decisive
using FlatTile = ContractionTile<8, 128, 2>;      ///< for convolutions with few outputs

namespace detail {

/// Whether results of product `Form` may have more than so many rows and columns, as far as its type tells.
template <class Form>
constexpr bool may_exceed(std::int64_t rows, std::int64_t columns) {
  if constexpr (Form::sized) return Form::rows() > rows && Form::columns() > columns;
  else return true;
}
constexpr bool is_flat(std::int64_t rows, std::int64_t columns) {
  return rows <= FlatTile::rows && columns > FlatTile::columns / 4;
}

}  // namespace detail

/// Launches a product. `Largest`: the side of the largest tile that is compiled.
template <int Largest = 128, class Form>
void start_contraction(const Form& p, const Launch& launch) {
  if constexpr (Largest >= 128 && !Form::wide && detail::may_exceed<Form>(64, 64))  // wide ones would not fit the registers
    if (detail::fills<LargeTile>(p, launch)) return detail::start_tiles<LargeTile>(p, launch);
  if constexpr (Largest >= 64 && detail::may_exceed<Form>(32, 32))
    if (detail::fills<MiddleTile>(p, launch)) return detail::start_tiles<MiddleTile>(p, launch);
  if constexpr (Form::sized) {
    using Tile = std::conditional_t<detail::is_flat(Form::rows(), Form::columns()), FlatTile, SmallTile>;
    detail::start_tiles<Tile>(p, launch);
  } else {
    if constexpr (Form::convolves) {
      if (detail::is_flat(p.m, p.n)) return detail::start_tiles<FlatTile>(p, launch);
    } else if (!detail::keeps_busy<SmallTile>(p, 1, launch)) {
      return detail::start_tiles<SmallestTile>(p, launch);
    }
    detail::start_tiles<SmallTile>(p, launch);
  }
}

/// Launches a product over samples. `blocks`: how many blocks are summed side by side in the workspace (see `BlockSplit`); 0:
/// none.
template <int Largest = 128, class Form>
void start_sum_of_products(const Form& p, std::int64_t blocks, const Launch& launch) {
  if (blocks == 0) return start_contraction<Largest>(p, launch);
  if constexpr (Largest >= 64 && detail::may_exceed<Form>(63, 63))
    if (p.m >= 64 && p.n >= 64 && detail::keeps_busy<MiddleTile>(p, blocks, launch))
      return detail::start_blocks<MiddleTile>(p, blocks, launch);
  if constexpr (!Form::convolves)
    if (!detail::keeps_busy<SmallTile>(p, blocks, launch)) return detail::start_blocks<SmallestTile>(p, blocks, launch);
  detail::start_blocks<SmallTile>(p, blocks, launch);
}

}  // namespace gradual::cuda
