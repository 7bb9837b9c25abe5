#include "core/args_values.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/text.hpp"

namespace sluice {
namespace {

args_value text_of(std::string text) { return {std::move(text), ""}; }

// Finds what paths point to without making a tree: a tree rounds numbers, and its depth is in the hand of
// whoever wrote the args. Of equal keys the last counts, as it does for handlers.
class args_search : public nlohmann::json_sax<nlohmann::json> {
public:
  explicit args_search(const std::vector<args_path>& paths) {
    for (const auto& path : paths)
      wanted_.push_back({&path});
  }

  std::vector<args_value> take() {
    std::vector<args_value> all;
    for (auto& s : wanted_)
      all.push_back(std::move(s.got));
    return all;
  }
  std::size_t stopped_at() const { return stopped_at_; }

  bool null() override { return scalar({"null", "is null in"}); }
  bool boolean(bool v) override { return scalar(text_of(v ? "true" : "false")); }
  bool number_integer(number_integer_t v) override { return scalar(text_of(std::to_string(v))); }
  bool number_unsigned(number_unsigned_t v) override { return scalar(text_of(std::to_string(v))); }
  bool number_float(number_float_t, const string_t& written) override {
    // Whole numbers beyond 64 bits come here too.
    if (written.find_first_not_of("-0123456789") == std::string::npos) return scalar(text_of(written));
    return scalar({written, cat("is the number ", printable(written, 40), " in")});
  }
  bool string(string_t& v) override { return scalar(text_of(std::move(v))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(false); }
  bool start_array(std::size_t) override { return open(true); }
  bool key(string_t& k) override { return here_.back().key = std::move(k), true; }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    stopped_at_ = position;
    return false;
  }

private:
  struct level {
    bool list;
    std::size_t next = 0;  // of a list
    std::string key{};     // of an object
  };
  struct search {
    const args_path* path;
    std::size_t matched = 0;  // how many of the open levels, from the outermost one, stand on the path
    args_value got{};
  };

  bool scalar(args_value value) {
    visit([&](search& s, std::size_t depth) {
      if (depth == s.path->size()) s.got = value;
    });
    return true;
  }

  bool open(bool list) {
    visit([&](search& s, std::size_t depth) {
      s.matched = depth;
      if (depth == s.path->size()) s.got = {"", list ? "is a list in" : "is an object in"};
    });
    here_.push_back({list});
    return true;
  }

  bool close() {
    here_.pop_back();
    for (auto& s : wanted_)
      s.matched = std::min(s.matched, here_.empty() ? 0 : here_.size() - 1);
    return true;
  }

  // Calls `with` for each path that the value which begins here stands on.
  template <class With>
  void visit(With with) {
    const auto depth = here_.size();
    for (auto& s : wanted_) {
      if (depth > 0 && (s.matched + 1 != depth || depth > s.path->size() || !points_here((*s.path)[depth - 1])))
        continue;
      s.got = {};  // whatever an equal key before this one held
      with(s, depth);
    }
    if (depth > 0) ++here_.back().next;
  }

  bool points_here(const std::string& segment) const {
    const auto& at = here_.back();
    return segment == (at.list ? std::to_string(at.next) : at.key);
  }

  std::vector<search> wanted_;
  std::vector<level> here_;
  std::size_t stopped_at_ = 0;
};

}  // namespace

args_path parse_args_path(std::string_view text) {
  args_path path;
  for (std::size_t from = 0; from <= text.size();) {
    const auto end = std::min(text.find('.', from), text.size());
    const auto segment = text.substr(from, end - from);
    if (segment.empty() || segment.front() == ' ' || segment.back() == ' ') return {};
    path.emplace_back(segment);
    from = end + 1;
  }
  return path;
}

result<std::vector<args_value>> find_in_args(const std::string& args, const std::vector<args_path>& paths) {
  if (args.find('\0') != std::string::npos) return error{errc::invalid_argument, "the args hold a NUL byte"};
  args_search search(paths);
  if (!nlohmann::json::sax_parse(args, &search))
    return error{errc::invalid_argument, cat("the args are no JSON at byte ", search.stopped_at())};
  return search.take();
}

}  // namespace sluice
