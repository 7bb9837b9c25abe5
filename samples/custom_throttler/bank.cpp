#include "custom_throttler/bank.hpp"

#include <stdexcept>
#include <thread>

namespace sample {
namespace {

using namespace std::chrono_literals;

constexpr auto call_time = 40ms;  // stands for the network
constexpr std::uint32_t links = 20'000;
constexpr unsigned falls_ill_after = 70, is_well_after = 100;  // transfers

}  // namespace

void bank::transfer(unsigned number) {
  const crowd::member call(callers_), transfer(transferers_);
  const bool too_many = call.count() > calls_at_once || (is_ill() && transfer.count() > transfers_when_ill);
  std::this_thread::sleep_for(call_time);
  std::lock_guard hold(mutex_);
  if (too_many) {
    ++refused_;
    throw std::runtime_error("the bank answers 503");
  }
  booked_.insert(number);
}

std::uint64_t bank::statement(unsigned number) {
  {
    std::lock_guard hold(mutex_);
    statements_.push_back(std::chrono::time_point_cast<sluice::duration>(std::chrono::system_clock::now()));
  }
  const crowd::member call(callers_);
  return checksum_chain("statement " + std::to_string(number), links);
}

bool bank::is_ill() const { return booked() >= falls_ill_after && booked() < is_well_after; }

unsigned bank::booked() const {
  std::lock_guard hold(mutex_);
  return static_cast<unsigned>(booked_.size());
}

unsigned bank::refused() const {
  std::lock_guard hold(mutex_);
  return refused_;
}

std::vector<sluice::time_point> bank::statements() const {
  std::lock_guard hold(mutex_);
  return statements_;
}

bool meeting::wait(std::chrono::seconds timeout) {
  std::unique_lock hold(mutex_);
  if (--missing_ == 0) changed_.notify_all();
  return changed_.wait_for(hold, timeout, [this] { return missing_ == 0; });
}

}  // namespace sample
