#include "execution/store_access.hpp"

namespace sluice::execution {

void store_access::submit(requests asked, answered done, storage::priority when) {
  waiting one{std::move(asked), std::move(done), when};
  {
    const mutex_lock held(lock_);
    if (!is_open_ && when != storage::priority::urgent) return waiting_.push_back(std::move(one));
  }
  pass_on(std::move(one));
}

void store_access::pass_on(waiting one) {
  auto told = [refused = on_refusal_, done = std::move(one.done)](std::vector<storage::answer> answers) {
    for (const auto& a : answers)
      if (const auto* failed = std::get_if<error>(&a)) (*refused)(*failed);
    done(std::move(answers));
  };
  store_->submit(std::move(one.asked), std::move(told), one.when);
}

std::vector<storage::answer> store_access::call(requests asked, steady_point deadline) {
  {
    const mutex_lock held(lock_);
    if (!is_open_)
      return std::vector<storage::answer>(asked.size(),
                                          error{errc::storage_busy, "the storage actor is being replaced"});
  }
  return store_->call(std::move(asked), deadline);
}

std::uint64_t store_access::open() {
  const mutex_lock held(lock_);
  is_open_ = true;
  for (; !waiting_.empty(); waiting_.pop_front())
    pass_on(std::move(waiting_.front()));  // with the lock held: nothing newer goes before
  return ++opened_;
}

void store_access::open_for_good() {
  {
    const mutex_lock held(lock_);
    stays_open_ = true;
  }
  open();
}

void store_access::close(std::uint64_t opened) {
  const mutex_lock held(lock_);
  if (opened == opened_ && !stays_open_) is_open_ = false;
}

}  // namespace sluice::execution
