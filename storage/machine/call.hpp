// A call of a script: its arguments in order, in one piece of memory. Whoever runs it puts the instant and its own name
// in front of them (lua/shared/basics.lua).
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/machine/script.hpp"

namespace sluice::storage::machine {

class call {
public:
  explicit call(script what) : what_(what) {}

  call& add(std::string_view word) {
    words_.append(word);
    ends_.push_back(words_.size());
    return *this;
  }
  call& add(std::uint64_t n) { return add_number(n); }
  call& add(std::int64_t n) { return add_number(n); }
  call& add(std::uint32_t n) { return add_number(n); }

  // Redis runs it also when it has forgotten the script: others of the batch rely on it.
  call& goes_with_its_text() {
    with_text_ = true;
    return *this;
  }

  script what() const { return what_; }
  bool has_text() const { return with_text_; }
  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t i) const {
    const auto from = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(words_).substr(from, ends_[i] - from);
  }

private:
  template <class N>
  call& add_number(N n) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, n).ptr;
    return add(std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }

  script what_;
  bool with_text_ = false;
  std::string words_;
  std::vector<std::size_t> ends_;
};

}  // namespace sluice::storage::machine
