// What a call answered, whichever store ran it. The texts stay where they are: whoever fills in a reply keeps them
// alive until it was read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::storage::machine {

class item;

class reply {
public:
  enum class kind : std::uint8_t { nothing, number, text, error, list };

  reply() : nodes_(1) {}

  item root() const;

  // Fills in one place; 0 is the root. A list is given the places of its elements, which follow one another.
  void set_number(std::size_t place, std::int64_t n) { nodes_[place] = {kind::number, n, nullptr, 0}; }
  void set_text(std::size_t place, std::string_view text) { nodes_[place] = {kind::text, 0, text.data(), text.size()}; }
  void set_error(std::size_t place, std::string_view text) {
    nodes_[place] = {kind::error, 0, text.data(), text.size()};
  }
  std::size_t set_list(std::size_t place, std::size_t size) {
    const auto first = nodes_.size();
    nodes_.resize(first + size);
    nodes_[place] = {kind::list, static_cast<std::int64_t>(first), nullptr, size};
    return first;
  }

private:
  friend class item;
  struct node {
    kind what = kind::nothing;
    std::int64_t number = 0;  // of a list: where its elements begin
    const char* text = nullptr;
    std::size_t size = 0;  // of a text, or of a list
  };
  std::vector<node> nodes_;
};

// A reply, or a part of one: looked at, not owned.
class item {
public:
  item(const reply& all, std::size_t place) : all_(&all), place_(place) {}

  bool is_error() const { return at().what == reply::kind::error; }
  // Of a list, else 0.
  std::size_t size() const { return at().what == reply::kind::list ? at().size : 0; }
  // Nothing when there is no such element.
  item operator[](std::size_t i) const;
  // Of a text or an error; empty for anything else.
  std::string_view text() const;
  // Of a number, or of a text that is one; else 0.
  std::int64_t number() const;

private:
  const reply::node& at() const { return all_->nodes_[place_]; }

  const reply* all_;
  std::size_t place_;
};

}  // namespace sluice::storage::machine
