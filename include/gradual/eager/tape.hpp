#pragma once
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gradual/autodiff/gradients.hpp>
#include <gradual/eager/executor_on.hpp>
#include <gradual/eager/parameters.hpp>

namespace gradual {

/// A tape that runs each op when it is recorded or, in a session's window, when it is needed. It cannot be moved, since Vars
/// point to it; they are valid until it is forgotten.
class EagerTape : public Tape {
 public:
  /// Runs ops of the list `Ops` as vector code. A template, so that programs that run nothing eagerly compile no loops.
  /// `pool`: threads that share larger work, without effect on any bit; it must outlive the tape.
  template <class Ops = OpsFor<void>>
  explicit EagerTape(const Device& device, std::int64_t batch = 1, Ops = {}, cpu::ThreadPool* pool = nullptr)
      : EagerTape(eager::executor_on<Ops>(device, pool), batch, nullptr) {}
  /// Makes a tape for models with these parameters, which must outlive it. Errors: TapeError if they have no values, or some
  /// were declared since.
  template <class Ops = OpsFor<void>>
  explicit EagerTape(const AnyParameters& values, std::int64_t batch = 1, Ops = {}, cpu::ThreadPool* pool = nullptr)
      : EagerTape(eager::executor_on<Ops>(values.device(), pool), batch, &values) {}
  EagerTape(const EagerTape&) = delete;
  EagerTape& operator=(const EagerTape&) = delete;

  std::int64_t batch() const { return executor_->batch(); }

  /// Adds an input with the values of all samples of the batch, `sample` being the shape of one; they are read in place until
  /// the tape is forgotten, which in a session is after the recording function has returned; bytes are kept as floats. Errors:
  /// DataError for another number of values, or for memory of the tape's GPU, from which only tensors are taken.
  template <class Range>
    requires requires(const Range& r) { std::span(r); } && std::ranges::borrowed_range<Range>
  Var input(Range&& values, const Shape& sample = {}) {
    using T = std::remove_cv_t<typename decltype(std::span(values))::element_type>;
    using E = std::conditional_t<std::is_same_v<T, std::uint8_t>, float, T>;
    const Shape all = Shape::per_sample(sample);
    const auto given = static_cast<std::int64_t>(std::span(values).size());
    if (given * std::int64_t{sizeof(E)} != eager::bytes_of(all, given_, dtype_of<E>))
      throw DataError((Message() << "input " << static_cast<int>(inputs.size()) << ", as recorded: " << given
                                 << " values do not make " << given_ << " samples of shape " << sample)
                          .string());
    check_on_host(std::span(values).data());
    const T* const first = std::span(values).data() + first_ * sample.unit();
    if constexpr (std::is_same_v<T, E>) executor_->bindings().bind_input(first);
    else executor_->bindings().bind_input(kept(std::vector<E>(first, first + batch() * sample.unit())).data());
    return gradual::input(*this, all, dtype_of<E>);
  }
  /// Does the same with values that the tape keeps, such as a function's own: tape.input(std::move(values), {3}).
  template <class T>
  Var input(std::vector<T>&& values, const Shape& sample = {}) {
    return input(std::span(kept(std::move(values))), sample);
  }
  /// Adds an input without samples, such as one to differentiate by. Errors: DeviceError for a tensor that the tape's device
  /// cannot read.
  Var input(const Tensor& tensor);

  /// Drops everything recorded, to go on with `batch` samples. Memory is kept for them.
  /// Errors: DataError for a negative number of samples.
  void forget(std::int64_t batch);
  void forget() { forget(batch()); }

  /// For sessions: `input` gets values for `given` samples and takes `batch` of them from sample `first` on; sums over the
  /// batch wait if `deferring`.
  void begin(std::int64_t first, std::int64_t batch, std::int64_t given, bool deferring);
  /// Makes `input` expect the tape's own samples only. Returns the index of the first of them among those given before.
  std::int64_t take_alone();
  eager::Executor& values() { return *executor_; }

 private:
  template <class T>
  const std::vector<T>& kept(std::vector<T>&& values) {
    const auto held = std::make_shared<const std::vector<T>>(std::move(values));
    kept_.push_back(held);
    return *held;
  }
  /// `values`: the parameters of its models, or null.
  EagerTape(std::unique_ptr<eager::Executor> executor, std::int64_t batch, const AnyParameters* values);
  void check_device(const Device& device) const;
  void check_on_host(const void* values) const;

  std::unique_ptr<eager::Executor> executor_;
  std::vector<std::shared_ptr<const void>> kept_;  ///< values of inputs
  std::int64_t first_ = 0, given_ = 0;
};

/// Returns the tape of a value. Errors: TapeError for a Var whose tape is not eager or was forgotten.
EagerTape& eager_tape(Var v);

/// Returns the elements of a value, computing it now. Errors: TapeError for a Var whose tape is not eager or was forgotten;
/// inside a window, ShapeError for gradients of its batch, which are known only at its end.
Tensor value(Var v);

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/tape.ipp>
#endif
