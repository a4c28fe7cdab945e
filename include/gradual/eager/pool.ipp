#pragma once
#include <gradual/eager/pool.hpp>

#include <gradual/core/config.hpp>
#include <gradual/core/heap_block.hpp>
#include <gradual/core/out_of_memory.hpp>

namespace gradual::eager {

GRADUAL_ONCE Pool* Pool::make(std::int64_t limit, std::unique_ptr<Accelerator> accelerator) {
  return new Pool(limit, std::move(accelerator));
}

GRADUAL_ONCE void Pool::drop() {
  if (--holders_ == 0) end();
}

GRADUAL_ONCE Storage Pool::take(std::int64_t bytes, Category category) {
  const int size_class = class_of(bytes);
  Piece*& free = free_[size_class];
  if (free == nullptr) free = make_piece(size_class);
  Piece* piece = std::exchange(free, free->next);
  piece->category = category;
  live_[static_cast<int>(category)] += size_of_class(size_class);
  hold();
  return Storage(piece);
}

GRADUAL_ONCE void Pool::trim() {
  for (Piece*& list : free_)
    while (list != nullptr) {
      Piece* piece = std::exchange(list, list->next);
      reserved_ -= size_of_class(piece->size_class);
      delete piece;
    }
}

GRADUAL_ONCE Piece* Pool::make_piece(int size_class) {
  const std::int64_t bytes = size_of_class(size_class);
  if (bytes > limit_ - reserved_) trim();
  if (bytes > limit_ - reserved_) refuse(bytes);
  std::unique_ptr<Piece> piece = from_system_or_free(bytes);
  piece->pool = this;
  piece->size_class = size_class;
  reserved_ += bytes;
  return piece.release();
}

GRADUAL_ONCE std::unique_ptr<Piece> Pool::from_system_or_free(std::int64_t bytes) {
  try {
    return from_system(bytes);
  } catch (const MemoryError&) {
    if (reserved_ == live()) throw;
  }
  trim();
  return from_system(bytes);
}

GRADUAL_ONCE std::unique_ptr<Piece> Pool::from_system(std::int64_t bytes) {
  return or_memory_error("eager", [&]() -> std::unique_ptr<Piece> {
    if (accelerator_ != nullptr) return accelerator_->take(bytes);
    return std::make_unique<PieceOf<HeapBlock>>(bytes);
  });
}

GRADUAL_ONCE void Pool::refuse(std::int64_t bytes) const {
  FixedText<500> text;
  text << "eager: " << bytes << " bytes on top of the " << reserved_ << " in use exceed the limit of " << limit_;
  for (int c = 0; c < category_count; ++c)
    if (live_[c] > 0) text << "; " << name_of(static_cast<Category>(c)) << " hold " << live_[c];
  throw MemoryError(text.view());
}

GRADUAL_ONCE void Storage::give_back() {
  Pool* pool = piece_->pool;
  piece_->next = std::exchange(pool->free_[piece_->size_class], piece_);
  pool->live_[static_cast<int>(piece_->category)] -= Pool::size_of_class(piece_->size_class);
  pool->drop();
}

}  // namespace gradual::eager
