#pragma once
#include <cstring>
#include <utility>

#include <gradual/core/memory_parts.hpp>
#include <gradual/cuda/orders.hpp>

namespace gradual::cuda {

/// The host's side of what goes to the device and comes back: two places, each with pinned memory for the samples and
/// for the losses of one micro-batch, so that the host fills one, and a stream of its own copies it, while kernels
/// still read what came from the other.
class HostPlaces {
 public:
  static constexpr int count = 2;

  /// For so many bytes of samples and of losses. Nobody uses the places then.
  void plan(std::int64_t samples, std::int64_t losses) {
    for (Place& place : places_) {
      place.samples = {}, place.losses = {};  // given back before more is taken
      place.samples = Pinned(samples), place.losses = Pinned(losses);
    }
    brings_ = samples <= FewSamples::most_bytes && samples % 16 == 0;
    few_ = {};
  }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const Place& place : places_) sum += place.samples.size() + place.losses.size();
    return sum;
  }

  /// The place of the micro-batch that kernels are asked to compute.
  int current() const { return current_; }
  std::byte* losses() const { return places_[current_].losses.data(); }

  /// Begins the next micro-batch, whose place on the device is one of those at `places`. Returns memory in which its samples
  /// can be put together, to be sent.
  std::byte* stage(const Stream& kernels, std::byte* places) {
    Place& next = places_[1 - current_];
    if (!next.was_read) next.sent.wait();
    to_ = places + (1 - current_) * next.samples.size();
    staged_ = {};
    few_ = {};  // of a micro-batch whose launch has failed
    straight_ = behind_others_ = false;
    if (!brings_) {
      kernels.record(places_[current_].read);
      copies_.wait_for(next.read);
    }
    return next.samples.data();
  }
  /// Whether samples lie in the device's own memory.
  bool on_device(const void* samples) const { return copies_.holds(samples); }
  /// Where some of the samples do, before each of these: kernels do not bring the others any more.
  void leave_to_device(const Stream& kernels) {
    Event& read = places_[1 - current_].read;
    if (std::exchange(brings_, false)) {
      kernels.record(read);
      copies_.wait_for(read);
    }
    send_staged();
  }
  /// For work that need not wait for kernels, behind what the default stream was asked for before the first of it.
  const Stream& copies() const {
    if (!behind_others_) copies_.wait_for_default(others_);
    behind_others_ = true;
    return copies_;
  }

  /// Until it is done.
  void wait_for_copies() const {
    behind_others_ = false;
    copies_.wait();
  }

  /// Puts bytes at `at` among the samples; of the host's memory, while one part is on its way, the next is copied.
  void put(const Stream& kernels, std::int64_t at, const void* from, std::int64_t bytes) {
    constexpr std::int64_t part = 64 << 20, worth_asking = 256 << 10;
    if (on_device(from)) {
      leave_to_device(kernels);
      copies().copy(to_ + at, from, bytes);
      straight_ = true;
      return;
    }
    if (!brings_ && bytes >= worth_asking && copies_.copies_straight(from)) {
      send_staged();
      copies_.copy(to_ + at, from, bytes);
      straight_ = true;
      return;
    }
    for (std::int64_t done = 0; done < bytes; done += part) {
      const std::int64_t left = bytes - done, size = left < part ? left : part;
      std::byte* const to = places_[1 - current_].samples.data() + at + done;
      for_memory_parts(size, [&](std::int64_t begin, std::int64_t end) {
        std::memcpy(to + begin, static_cast<const std::byte*>(from) + done + begin, static_cast<std::size_t>(end - begin));
      });
      staged(at + done, at + done + size);
      if (!brings_ && staged_.end - staged_.begin >= part) send_staged();
    }
  }
  /// Bytes [begin, end) among the samples were put together.
  void staged(std::int64_t begin, std::int64_t end) {
    if (staged_.begin == staged_.end) staged_.begin = begin;
    staged_.end = end;
  }
  /// It is not sent; memory that is not ours is not read any more.
  void forget_staged() {
    staged_ = {};
    try {
      wait_for_copies();
    } catch (const Error&) {  // the device is lost, which who forgets it is about to say
    }
  }
  /// Makes that micro-batch the current one, whose samples the device has as soon as the kernels that read what was at their
  /// place are done; later kernels wait for it. Returns the place.
  std::byte* send(const Stream& kernels) {
    Place& next = places_[1 - current_];
    behind_others_ = false;
    if (brings_) {
      few_ = {next.samples.data(), to_, next.samples.size()};
    } else {
      send_staged();
      copies_.record(next.sent);
      kernels.wait_for(next.sent);
      if (straight_) next.sent.wait();  // what is not ours may be changed now
    }
    next.was_read = false;
    current_ = 1 - current_;
    return to_;
  }
  /// What the next kernels must bring, which they then were asked to.
  const FewSamples& few() const { return few_; }
  void few_asked(const Stream& kernels) {
    if (few_.bytes > 0) kernels.record(places_[current_].sent);
    few_ = {};
  }

  /// The losses of the current micro-batch were asked for.
  void losses_asked(const Stream& kernels) { kernels.record(places_[current_].computed); }
  /// Until the host can read those of a place.
  void wait_for_losses(int place) const {
    places_[place].computed.wait();
    places_[place].was_read = true;
  }

 private:
  struct Place {
    Pinned samples, losses;
    Event sent, read, computed;  ///< samples to the device and by its kernels, losses to the host
    mutable bool was_read = false;  ///< samples: the host knows
  };
  struct Range {
    std::int64_t begin = 0, end = 0;
  };

  void send_staged() {
    if (staged_.begin < staged_.end)
      copies_.copy(to_ + staged_.begin, places_[1 - current_].samples.data() + staged_.begin, staged_.end - staged_.begin);
    staged_ = {};
  }

  Place places_[count];
  int current_ = 0;
  std::byte* to_ = nullptr;  // the next place on the device
  Range staged_;             // of the next place, not sent yet
  FewSamples few_;
  mutable Event others_;                // what they have asked for
  mutable bool behind_others_ = false;  // what was copied or looked at since the last micro-batch
  bool brings_ = false, straight_ = false;  // kernels bring samples; some come from memory that is not ours
  Stream copies_;  // the last to be made and the first to go
};

}  // namespace gradual::cuda
