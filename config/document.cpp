#include "config/document.hpp"

#include <algorithm>
#include <set>

#include "core/json_fault.hpp"
#include "core/text.hpp"

namespace sluice::config {
namespace {

constexpr int max_depth = 32;

// Builds the tree itself, because nlohmann's own parser silently keeps the last of two equal keys.
class builder : public nlohmann::json_sax<json> {
public:
  explicit builder(std::vector<fault>& faults) : faults_(faults) {}

  json take() && { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(v); }
  bool number_unsigned(number_unsigned_t v) override { return put(v); }
  bool number_float(number_float_t v, const string_t&) override { return put(v); }
  bool string(string_t& v) override { return put(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& k) override {
    auto& here = stack_.back();
    here.key = k;
    if (!here.keys.insert(k).second)
      faults_.push_back({here.pointer + "/" + pointer_part(k), "is given twice; keep one"});
    return true;
  }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return stack_.pop_back(), true; }
  bool end_array() override { return stack_.pop_back(), true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& e) override {
    faults_.push_back({"", json_fault(position, e.what())});
    return false;
  }

private:
  struct level {
    json* value;
    std::string pointer;
    std::string key{};
    std::set<std::string> keys{};
  };

  template <class V>
  bool put(V&& v) {
    place() = std::forward<V>(v);
    return true;
  }

  bool open(json empty) {
    if (static_cast<int>(stack_.size()) >= max_depth) {
      faults_.push_back({stack_.back().pointer, cat("is nested deeper than ", max_depth, " levels")});
      return false;
    }
    std::string pointer;
    if (!stack_.empty()) {
      const auto& here = stack_.back();
      pointer =
          here.pointer + "/" + (here.value->is_object() ? pointer_part(here.key) : std::to_string(here.value->size()));
    }
    json& at = place();
    at = std::move(empty);
    stack_.push_back({&at, std::move(pointer)});
    return true;
  }

  json& place() {
    if (stack_.empty()) return root_;
    auto& here = stack_.back();
    if (here.value->is_object()) return (*here.value)[here.key];
    here.value->push_back(nullptr);
    return here.value->back();
  }

  std::vector<fault>& faults_;
  json root_;
  std::vector<level> stack_;
};

class args_reader : public nlohmann::json_sax<json> {
public:
  args_texts take() && { return std::move(found_); }

  bool null() override { return put("null"); }
  bool boolean(bool v) override { return put(v ? "true" : "false"); }
  bool number_integer(number_integer_t v) override { return put(std::to_string(v)); }
  bool number_unsigned(number_unsigned_t v) override { return put(std::to_string(v)); }
  bool number_float(number_float_t, const string_t& written) override { return put(written); }
  bool string(string_t& v) override { return put(json_quoted(v)); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& k) override {
    auto& here = open_.back();
    here.key = k;
    if (inside_ > 0) text_.append(here.count++ > 0 ? "," : "").append(json_quoted(k)).append(":");
    return true;
  }
  bool start_object(std::size_t) override {
    const bool is_args = !open_.empty() && !open_.back().list && open_.back().key == "args";
    if (inside_ == 0 && is_args) {
      inside_ = open_.size() + 1;
      text_.clear();
    }
    return open(false, "{");
  }
  bool start_array(std::size_t) override { return open(true, "["); }
  bool end_object() override {
    close("}");
    if (open_.size() + 1 == inside_) {
      found_[open_.back().pointer + "/args"] = text_;
      inside_ = 0;
    }
    return true;
  }
  bool end_array() override { return close("]"); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

private:
  struct level {
    bool list;
    std::string pointer;
    std::string key{};
    std::size_t count = 0;
  };

  bool put(std::string_view value) {
    if (inside_ > 0)
      text_.append(!open_.empty() && open_.back().list && open_.back().count++ > 0 ? "," : "").append(value);
    return true;
  }
  bool open(bool list, std::string_view mark) {
    put(mark);
    open_.push_back({list, open_.empty() ? "" : cat(open_.back().pointer, "/", pointer_part(open_.back().key))});
    return true;
  }
  bool close(std::string_view mark) {
    open_.pop_back();
    if (inside_ > 0) text_ += mark;
    return true;
  }

  args_texts found_;
  std::vector<level> open_;
  std::size_t inside_ = 0;  // the depth of the args that are being read
  std::string text_;
};

}  // namespace

json parse_document(const std::string& text, std::vector<fault>& faults) {
  if (text.find('\0') != std::string::npos) {  // the parser would stop there and call it the end
    faults.push_back({"", "holds a NUL byte"});
    return nullptr;
  }
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    faults.push_back({"", "is empty; the least that it may say is {}"});
    return nullptr;
  }
  builder sax(faults);
  const bool whole = json::sax_parse(text.begin(), text.end(), &sax, json::input_format_t::json, true, true);
  return whole ? std::move(sax).take() : json(nullptr);
}

args_texts read_args_texts(const std::string& text) {
  args_reader sax;
  json::sax_parse(text.begin(), text.end(), &sax, json::input_format_t::json, true, true);
  return std::move(sax).take();
}

}  // namespace sluice::config
