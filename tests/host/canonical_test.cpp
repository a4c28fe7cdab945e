// The rule of blocks against a second implementation of canonical order: which positions of a window share a block.
#include <gtest/gtest.h>

#include <gradual/core/block_pieces.hpp>

#include "../kernels.hpp"

namespace canonical_test {

using namespace gradual;
using kernels::block_of;

/// Returns whether begin, end and number of the block at a position agree with `block_of`, for samples of p positions.
constexpr bool agrees(std::int64_t at, std::int64_t p) {
  const std::int64_t begin = block_begin(at, p), end = block_end(at, p), block = block_of(at, p);
  return begin <= at && at < end && block_of(begin, p) == block && block_of(end - 1, p) == block &&
         (begin == 0 || block_of(begin - 1, p) != block) && block_of(end, p) != block && block_number(at, p) == block;
}

TEST(CanonicalOrder, BlocksAreThoseOfTheRule) {
  for (std::int64_t p = 1; p <= 400; ++p)
    for (std::int64_t at = 0; at < 3 * p + 300; ++at)
      EXPECT_TRUE(agrees(at, p)) << "position " << at << " of samples of " << p;
  static_assert(agrees(0, 1) && agrees(127, 1) && agrees(128, 1) && agrees(255, 128) && agrees(256, 129) &&
                agrees(300, 300));
}

TEST(CanonicalOrder, BlocksHaveAtMost128Positions) {
  static_assert(canonical_block == 128 && canonical_lanes == 32);
  static_assert(block_positions(1) == 128 && block_positions(2) == 128 && block_positions(3) == 3 * 32);
  static_assert(block_positions(43) == 2 * 43 && block_positions(64) == 128 && block_positions(65) == 65);
  static_assert(block_positions(127) == 127 && block_positions(128) == 128 && block_positions(1000) == 128);
  static_assert(block_samples(0) == 1 && block_samples(1) == 128 && block_samples(3) == 32 && block_samples(64) == 2);
  static_assert(block_samples(65) == 1 && block_samples(128) == 1 && block_samples(1000) == 1);
  static_assert(block_end(130, 200) == 200 && block_begin(205, 200) == 200 && block_end(205, 200) == 328);
  for (std::int64_t p = 1; p <= 400; ++p)
    for (std::int64_t at = 0; at < 3 * p; ++at) EXPECT_LE(block_end(at, p) - block_begin(at, p), block_positions(p));
}

TEST(CanonicalOrder, PiecesAreWhatAPartHasOfEachBlock) {
  for (std::int64_t p : {0, 1, 3, 64, 100, 128, 200, 300})
    for (std::int64_t begin : {0, 1, 127, 128, 200, 513})
      for (std::int64_t count : {0, 1, 127, 128, 129, 700})
        for (const bool last : {false, true}) {
          std::int64_t at = begin;
          for (const BlockPiece& piece : BlockPieces(begin, begin + count, p, last)) {
            const bool whole = piece.end == block_end(at, p);
            EXPECT_EQ(piece.begin, at);
            EXPECT_EQ(piece.begins, block_begin(at, p) == at);
            EXPECT_TRUE(whole || (piece.end == begin + count && piece.end < block_end(at, p)));
            EXPECT_EQ(piece.closes, whole || last);
            EXPECT_GT(piece.count(), 0);
            at = piece.end;
          }
          EXPECT_EQ(at, begin + count);
        }
}

}  // namespace canonical_test
