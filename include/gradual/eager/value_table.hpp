#pragma once
#include <utility>
#include <vector>

#include <gradual/eager/storage.hpp>

namespace gradual::eager {

/// The memory of a tape's value, and its state of computation.
struct Value {
  Storage storage;             ///< empty: the caller's memory, or not in memory
  const void* data = nullptr;  ///< null: not in memory
  bool noted = false;          ///< not run yet, perhaps never; or not kept
  bool needed = false;         ///< by the value being settled
  bool kept = false;           ///< after its sweep
  int uses = 0;                ///< as an operand, so far
  int outer_uses = 0;          ///< those of them outside its sweep

  void hold(Storage memory) {
    storage = std::move(memory);
    data = storage.data();
  }
  void share(const Value& other) {
    storage = other.storage;
    data = other.data;
  }
  void release() {
    storage = {};
    data = nullptr;
    noted = false;
  }
};

/// The values of a tape, by node.
class ValueTable {
 public:
  Value& operator[](int id) { return values_[static_cast<std::size_t>(id)]; }
  const Value& operator[](int id) const { return values_[static_cast<std::size_t>(id)]; }
  int size() const { return static_cast<int>(values_.size()); }
  void resize(int count) { values_.resize(static_cast<std::size_t>(count)); }
  void clear() { values_.clear(); }

 private:
  std::vector<Value> values_;
};

}  // namespace gradual::eager
