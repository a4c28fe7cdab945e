#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

namespace gradual {

/// The uses of a device's memory.
enum class Category : unsigned char { parameters, gradients, optimizer_state, values, workspace };
inline constexpr int category_count = 5;
constexpr const char* name_of(Category category) {
  constexpr const char* names[category_count] = {"parameters", "gradients", "optimizer state", "values", "workspace"};
  return names[static_cast<int>(category)];
}

}  // namespace gradual

namespace gradual::eager {

class Pool;

/// A piece of a pool's memory, in a block of any kind of device memory.
struct Piece {
  virtual ~Piece() = default;

  std::byte* data = nullptr;
  Pool* pool = nullptr;
  Piece* next = nullptr;  ///< in the list of free pieces
  int holders = 0;
  int size_class = 0;
  Category category = Category::values;
};
template <class Block>
struct PieceOf final : Piece {
  explicit PieceOf(std::int64_t bytes) : block(bytes) { data = block.data(); }
  Block block;
};

/// A shared handle to a piece of a pool's memory, which returns to the pool with the last handle. Handles of one pool belong to
/// one thread.
class Storage {
 public:
  Storage() = default;
  Storage(const Storage& other) : piece_(other.piece_) {
    if (piece_ != nullptr) ++piece_->holders;
  }
  Storage(Storage&& other) noexcept : piece_(std::exchange(other.piece_, nullptr)) {}
  Storage& operator=(Storage other) noexcept {
    std::swap(piece_, other.piece_);
    return *this;
  }
  ~Storage() {
    if (piece_ != nullptr && --piece_->holders == 0) give_back();
  }

  std::byte* data() const { return piece_ == nullptr ? nullptr : piece_->data; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }
  bool empty() const { return piece_ == nullptr; }

 private:
  friend class Pool;
  explicit Storage(Piece* piece) : piece_(piece) { piece_->holders = 1; }
  void give_back();

  Piece* piece_ = nullptr;
};

}  // namespace gradual::eager
