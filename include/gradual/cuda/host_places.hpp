#pragma once
#include <cstring>
#include <utility>

#include <gradual/core/memory_parts.hpp>
#include <gradual/cuda/orders.hpp>

namespace gradual::cuda {

/// The host's buffers for samples and losses: two places, each with pinned memory for one micro-batch. The host fills one, and
/// a separate stream copies it, while kernels still read what came from the other.
class HostPlaces {
 public:
  static constexpr int count = 2;

  /// Allocates the places, for so many bytes of samples and of losses. They must not be in use.
  void plan(std::int64_t samples, std::int64_t losses) {
    for (Place& place : places_) {
      place.samples = {}, place.losses = {};  // freed before more is allocated
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

  /// Returns the place of the micro-batch that kernels compute.
  int current() const { return current_; }
  std::byte* losses() const { return places_[current_].losses.data(); }

  /// Begins the next micro-batch, which gets one of the places at `places` on the device. Returns memory in which its samples
  /// can be assembled, to be sent.
  std::byte* stage(const Stream& kernels, std::byte* places) {
    Place& next = places_[1 - current_];
    if (!next.was_read) next.sent.wait();
    to_ = places + (1 - current_) * next.samples.size();
    staged_ = {};
    few_ = {};  // left by a micro-batch whose launch failed
    straight_ = behind_others_ = false;
    if (!brings_) {
      kernels.record(places_[current_].read);
      copies_.wait_for(next.read);
    }
    return next.samples.data();
  }
  /// Must be called before each use of samples in the device's own memory: from then on the others are copied, no longer
  /// brought by kernels.
  void leave_to_device(const Stream& kernels) {
    Event& read = places_[1 - current_].read;
    if (std::exchange(brings_, false)) {
      kernels.record(read);
      copies_.wait_for(read);
    }
    send_staged();
  }
  /// Returns the stream for work that need not wait for kernels; its first work waits for that on the default stream.
  const Stream& copies() const {
    if (!behind_others_) copies_.wait_for_default(others_);
    behind_others_ = true;
    return copies_;
  }

  /// Waits for that work.
  void wait_for_copies() const {
    behind_others_ = false;
    copies_.wait();
  }

  /// Puts bytes at offset `at` of the samples. Host memory is sent in parts: while one is being sent, the next is staged.
  void put(const Stream& kernels, std::int64_t at, const void* from, std::int64_t bytes) {
    constexpr std::int64_t part = 64 << 20, worth_asking = 256 << 10;
    if (copies_.holds(from)) {
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
  /// Notes that bytes [begin, end) of the samples were assembled.
  void staged(std::int64_t begin, std::int64_t end) {
    if (staged_.begin == staged_.end) staged_.begin = begin;
    staged_.end = end;
  }
  /// Drops what is staged; on return the caller's memory is no longer read.
  void forget_staged() {
    staged_ = {};
    try {
      wait_for_copies();
    } catch (const Error&) {  // the device is lost, which the caller is about to report
    }
  }
  /// Makes the staged micro-batch the current one. The device has its samples as soon as the kernels that read the previous
  /// ones at that place are done; later kernels wait for them. Returns their address on the device.
  std::byte* send(const Stream& kernels) {
    Place& next = places_[1 - current_];
    behind_others_ = false;
    if (brings_) {
      few_ = {next.samples.data(), to_, next.samples.size()};
    } else {
      send_staged();
      copies_.record(next.sent);
      kernels.wait_for(next.sent);
      if (straight_) next.sent.wait();  // the caller may now change its memory
    }
    next.was_read = false;
    current_ = 1 - current_;
    return to_;
  }
  /// Returns the samples that the next kernels must bring; `few_asked` notes that these kernels were launched.
  const FewSamples& few() const { return few_; }
  void few_asked(const Stream& kernels) {
    if (few_.bytes > 0) kernels.record(places_[current_].sent);
    few_ = {};
  }

  /// Notes that the kernels that write the losses of the current micro-batch were queued.
  void losses_asked(const Stream& kernels) { kernels.record(places_[current_].computed); }
  /// Waits until the host can read the losses of a place.
  void wait_for_losses(int place) const {
    places_[place].computed.wait();
    places_[place].was_read = true;
  }

 private:
  struct Place {
    Pinned samples, losses;
    Event sent, read, computed;  ///< samples sent, and read by kernels; losses computed
    mutable bool was_read = false;  ///< the host knows that the samples were read
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
  mutable Event others_;                // the work on the default stream
  mutable bool behind_others_ = false;  // copies_ has waited for others_ since the last micro-batch
  bool brings_ = false, straight_ = false;  // kernels bring samples; some come straight from the caller's memory
  Stream copies_;  // constructed last, destroyed first
};

}  // namespace gradual::cuda
