#pragma once
#include <gradual/cuda/runtime.hpp>

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
  }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const Place& place : places_) sum += place.samples.size() + place.losses.size();
    return sum;
  }

  /// The place of the micro-batch that kernels are asked to compute.
  int current() const { return current_; }
  std::byte* losses() const { return places_[current_].losses.data(); }

  /// Memory in which the samples of the next micro-batch are put together.
  std::byte* next_samples() const {
    const Place& next = places_[1 - current_];
    next.sent.wait();
    return next.samples.data();
  }
  /// Makes that micro-batch the current one: sends its samples to its place on the device, of which the first begins at
  /// `places`, as soon as the kernels that read what is there are done; later kernels wait for it. Returns the place.
  std::byte* send(const Stream& kernels, std::byte* places, std::int64_t bytes) {
    kernels.record(places_[current_].read);
    Place& next = places_[1 - current_];
    std::byte* const to = places + (1 - current_) * next.samples.size();
    copies_.wait_for(next.read);
    copies_.copy(to, next.samples.data(), bytes);
    copies_.record(next.sent);
    kernels.wait_for(next.sent);
    current_ = 1 - current_;
    return to;
  }

  /// The losses of the current micro-batch were asked for.
  void losses_asked(const Stream& kernels) { kernels.record(places_[current_].computed); }
  /// Until the host can read those of a place.
  void wait_for_losses(int place) const { places_[place].computed.wait(); }

 private:
  struct Place {
    Pinned samples, losses;
    Event sent, read, computed;  ///< samples to the device and by its kernels, losses to the host
  };
  Place places_[count];
  int current_ = 0;
  Stream copies_;  // the last to be made and the first to go
};

}  // namespace gradual::cuda
