#pragma once
#include <gradual/eager/executor.hpp>

#include <gradual/autodiff/label_text.hpp>
#include <gradual/autodiff/ops/input.hpp>
#include <gradual/autodiff/ops/uses.hpp>
#include <gradual/autodiff/with_type.hpp>
#include <gradual/eager/by_sample.hpp>
#include <gradual/eager/sweep.hpp>

namespace gradual::eager {

GRADUAL_ONCE Executor::Executor(const Device& device) : device_(device) {}

GRADUAL_ONCE Executor::~Executor() = default;

GRADUAL_ONCE void Executor::run(const Tape& tape, int id) {
  const Node& node = tape[id];
  const Kind kind = node.op->kind;
  if (kind == Kind::input) return find_input(tape, id);
  if (is_view(kind)) return;
  if (shares_memory(node)) return share(tape, id);
  if (is_sample_sum(kind)) return sum_all(tape, id);
  compute(tape, id);
}

GRADUAL_ONCE void Executor::add_to_sum(const Tape& tape, int sum, Shadow& shadow, std::int64_t begin, bool last) {
  const std::int64_t p = positions(tape, tape[sum]), first = begin * p, end = first + batch_ * p;
  if (first == end) return;
  if (shadow.ends_before(first)) close_sum(tape, sum, shadow);
  if (shadow.lacks_block_of(first, p)) device_.clear(shadow.open().data(), bytes_of(tape[sum].shape, 1, tape[sum].dtype));
  add_samples(tape, sum, shadow, begin, last);
  shadow.extend(end, p, last);
}

GRADUAL_ONCE void Executor::close_sum(const Tape& tape, int sum, Shadow& shadow) {
  add_open_block(tape, sum, shadow);
  shadow.close();
}

GRADUAL_ONCE bool Executor::sum_is_finite(const Tape& tape, int sum, const Shadow& shadow) const {
  return with_real(tape[sum], [&](auto t) { return shadow.is_finite<decltype(t)>(device_, tape[sum].shape.unit()); });
}

GRADUAL_ONCE void Executor::reset(std::int64_t batch, bool deferring) {
  give_back_workspace();
  values_.clear();
  window_.reset(deferring);
  bindings_.reset();
  readers_.clear();
  fetched_.clear();
  unchecked_.clear();
  batch_ = batch;
  random_ = {};
  deferring_ = deferring;
}

GRADUAL_ONCE void Executor::recorded(Tape& tape, int id) {
  try {
    values_.resize(id + 1);
    count_uses(tape[id], 1);
    if (window_.add(tape, id)) return;
    const Kind kind = tape[id].op->kind;
    if (noting_ || (deferring_ && kind != Kind::input)) values_[id].noted = true;
    else run(tape, id);
  } catch (...) {
    if (values_.size() > id) count_uses(tape[id], -1);
    values_.resize(id);
    window_.remove(id);
    tape.nodes.pop_back();
    throw;
  }
}

GRADUAL_ONCE void Executor::check_labels(const char* op, const Tape& tape, int id, const LabelRange& range, bool staged) {
  if (!(deferring_ || noting_) || !staged) return check(tape, {op, id, range});
  int source = id;
  while (gradual::detail::is_view(tape[source])) source = tape[source].in[0];
  if (is_input(tape[source], Input::sample)) unchecked_.push_back({op, id, range});  // others are in range by what they are
}

GRADUAL_ONCE void Executor::check_unchecked(const Tape& tape) {
  std::vector<Labels> all;
  all.swap(unchecked_);  // the labels themselves may be read
  try {
    for (const Labels& labels : all) check(tape, labels);
  } catch (...) {
    unchecked_.swap(all);
    throw;
  }
}

GRADUAL_ONCE void Executor::check(const Tape& tape, const Labels& labels) {
  const auto* const label = static_cast<const std::int32_t*>(on_host(tape, labels.id));
  for (std::int64_t s = 0; s < elements(tape[labels.id]); ++s)
    if (!labels.range.accepts(label[s]))
      throw DataError(std::string(labels.op) + ": " + gradual::detail::noun_of(labels.range) + " " + std::to_string(label[s]) +
                      " at position " + std::to_string(s) + " is outside the " + gradual::detail::all_of(labels.range));
}

GRADUAL_ONCE const void* Executor::dense(const Tape& tape, int id) {
  Value& value = values_[id];
  if (window_.waits(id)) throw ShapeError("the gradient of a batch was read inside a window: it is known only at the end");
  if (value.noted) settle(tape, id);
  if (value.data == nullptr) {
    if (!is_view(tape[id].op->kind))
      throw TapeError("value " + std::to_string(id) + " was read after its part had been added to the window");
    if (sweeping_ && tape[id].shape.batched()) swept_views_.push_back(id);
    materialise(tape, id);
  }
  return value.data;
}

GRADUAL_ONCE Tensor Executor::tensor(const Tape& tape, int id) {
  const Node& node = tape[id];
  Shape shape = node.shape;
  if (shape.batched()) shape.extent[shape.batch_axis] *= batch_;
  shape.batch_axis = -1;
  const void* data = dense(tape, id);
  if (Storage& owner = values_[id].storage; !owner.empty()) return {device_, node.dtype, shape, owner};
  const std::int64_t bytes = bytes_of(shape, 1, node.dtype);
  Storage copy = device_.allocate(bytes);
  device_.copy(copy.data(), data, bytes);
  return {device_, node.dtype, shape, std::move(copy)};
}

GRADUAL_ONCE const void* Executor::on_host(const Tape& tape, int id) {
  const void* const data = dense(tape, id);
  return device_.shares_host_memory() ? data : fetched(data, bytes_of(tape[id].shape, batch_, tape[id].dtype));
}

GRADUAL_ONCE const void* Executor::input_on_host(const Node& node) {
  const Bindings::Given& given = bindings_.sample(static_cast<std::size_t>(node.attributes.integer[0]));
  const bool readable = device_.shares_host_memory() || !given.on_device;
  return readable ? given.data : fetched(given.data, bytes_of(node.shape, 1, node.dtype));
}

GRADUAL_ONCE void Executor::reserve(const Tape& tape, int sum, Shadow& shadow, std::int64_t begin, bool last) {
  const std::int64_t p = positions(tape, tape[sum]);
  shadow.reserve(device_, bytes_of(tape[sum].shape, 1, tape[sum].dtype), begin * p, (begin + batch_) * p, p, last);
  for (int k = 0; k < tape[sum].op->arity; ++k) addresses_of_uses(tape, sum, k);
}

GRADUAL_ONCE std::span<const void* const> Executor::addresses_of_uses(const Tape& tape, int sum, int k) {
  const int operand = tape[sum].in[k], count = count_of_uses(tape.nodes.data(), operand);
  for (int u = 0; u < count; ++u) dense(tape, use_of(tape.nodes.data(), operand, u));
  uses_[k].clear();
  for (int u = 0; u < count; ++u) uses_[k].push_back(values_[use_of(tape.nodes.data(), operand, u)].data);
  return uses_[k];
}

GRADUAL_ONCE void Executor::set_sum(int sum, const Storage& total) {
  hold(sum, total);
  window_.end_wait(sum);
}

GRADUAL_ONCE void Executor::run_deferred(const Tape& tape) {
  for (const int id : window_.ids())
    if (window_.waits(id)) {
      for (int k = 0; k < tape[id].op->arity; ++k) settle(tape, tape[id].in[k]);
      run(tape, id);
      window_.end_wait(id);
    }
}

GRADUAL_ONCE void Executor::defer_again(const Tape& tape) {
  for (const int id : window_.ids())
    if (window_.defer(tape, id)) release(id);
}

GRADUAL_ONCE void Executor::derive_again(const Tape& tape) {
  std::vector<char> derived(static_cast<std::size_t>(tape.size()));
  for (const int id : window_.ids()) {
    char& of_parameters = derived[static_cast<std::size_t>(id)];
    of_parameters = is_input(tape[id], Input::parameter);
    for (int k = 0; k < tape[id].op->arity; ++k) of_parameters |= derived[static_cast<std::size_t>(tape[id].in[k])];
    if (of_parameters == 0 || tape[id].op->kind == Kind::input || window_.waits(id)) continue;
    release(id);
    values_[id].noted = !is_view(tape[id].op->kind);
  }
}

GRADUAL_ONCE void Executor::expect(int count) {
  values_.resize(count);
  window_.expect(count);
}

GRADUAL_ONCE void Executor::release_batched(const Tape& tape) {
  give_back_workspace();
  for (int i = 0; i < values_.size(); ++i)
    if (tape[i].shape.batched()) release(i);
}

GRADUAL_ONCE void Executor::finish_recording(const Tape& tape) {
  window_.forget_unwanted(tape);
  readers_.count(tape, values_, window_.ids());
}

GRADUAL_ONCE void Executor::has_been_read(const Tape& tape, int id) {
  if (!readers_.counted()) return;
  readers_.has_been_read(tape, id, [&](int unread) {
    if (tape[unread].shape.batched() && tape[unread].op->kind != Kind::input) release(unread);
  });
}

GRADUAL_ONCE void Executor::has_read_operands(const Tape& tape, int id) {
  for (int k = 0; k < tape[id].op->arity; ++k) has_been_read(tape, tape[id].in[k]);
}

GRADUAL_ONCE void* Executor::allocate(const Tape& tape, int id) {
  if (sweeping_) return const_cast<void*>(values_[id].data);
  hold(id, device_.allocate(bytes_of(tape[id].shape, batch_, tape[id].dtype)));
  return values_[id].storage.data();
}

GRADUAL_ONCE void Executor::find_input(const Tape& tape, int id) {
  const Bindings::Given given = bindings_.of(tape, id);
  if (given.data == nullptr) {
    with_type(tape[id].dtype, [&](auto t) {
      using T = decltype(t);
      const Scalar& scalar = tape.scalars[static_cast<std::size_t>(tape[id].attributes.integer[0])];
      const T number = static_cast<T>(static_cast<Computed<T>>(scalar.at(0)));
      device_.copy(allocate(tape, id), &number, sizeof(T));
    });
  } else if (given.on_device) {
    values_[id].storage = given.owner;
    values_[id].data = given.data;
  } else {
    read_host(tape, id, given.data);
  }
}

GRADUAL_ONCE void Executor::read_host(const Tape& tape, int id, const void* data) {
  if (device_.shares_host_memory()) values_[id].data = data;
  else device_.copy(allocate(tape, id), data, bytes_of(tape[id].shape, batch_, tape[id].dtype));
}

GRADUAL_ONCE const void* Executor::fetched(const void* data, std::int64_t bytes) {
  const HeapBlock& copy = fetched_.emplace_back(bytes);
  device_.read(copy.data(), data, bytes);
  return copy.data();
}

GRADUAL_ONCE void Executor::share(const Tape& tape, int id) {
  dense(tape, tape[id].in[0]);
  values_[id].share(values_[tape[id].in[0]]);
}

GRADUAL_ONCE void Executor::sum_all(const Tape& tape, int id) {
  Shadow whole;
  reserve(tape, id, whole, 0, true);
  add_to_sum(tape, id, whole, 0, true);
  close_sum(tape, id, whole);
  hold(id, whole.total());
}

GRADUAL_ONCE void Executor::count_uses(const Node& node, int times) {
  for (int k = 0; k < node.op->arity; ++k) values_[node.in[k]].uses += times;
}

}  // namespace gradual::eager
