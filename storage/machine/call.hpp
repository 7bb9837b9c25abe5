// A call of the library: its arguments in order, in one piece of memory. Whoever runs it puts the instant and its own
// name in front of them (storage/rules/base.lua).
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/machine/library.hpp"

namespace sluice::storage::machine {

class call {
public:
  explicit call(verb what) : what_(what) {}

  call& add(std::string_view word) {
    words_.append(word);
    ends_.push_back(words_.size());
    return *this;
  }
  call& add(std::uint64_t n) { return add_number(n); }
  call& add(std::int64_t n) { return add_number(n); }
  call& add(std::uint32_t n) { return add_number(n); }

  verb what() const { return what_; }
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

  verb what_;
  std::string words_;
  std::vector<std::size_t> ends_;
};

}  // namespace sluice::storage::machine
