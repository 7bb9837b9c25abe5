// The JSON text of a configuration as a tree, with what the parser alone can see: duplicate keys.
#pragma once

#include <map>
#include <vector>

#include <nlohmann/json.hpp>

#include "config/load.hpp"

namespace sluice::config {

using json = nlohmann::json;

// The tree; null with a fault when the text is no JSON.
json parse_document(const std::string& text, std::vector<fault>& faults);

// The objects under keys "args" by their pointers, as they were written but for spaces and escapes: a tree rounds
// numbers and orders keys. Of a text that `parse_document` has found good.
using args_texts = std::map<std::string, std::string>;
args_texts read_args_texts(const std::string& text);

// A value that was typed: "8" is a number, "30s" a text; whatever is JSON is read as JSON.
json value_of(const std::string& text);

// Words as "limit=4" laid out as a file has them.
json value_of_words(const std::vector<std::string>& words, const char* example, std::vector<fault>& faults);

// Environment and flags laid over the tree. What names no place is a fault; a variable that is like none of the `known`
// keys is another program's, and a warning. A fault of a place that a variable has set names the variable.
json apply_overrides(const json& file, const source& from, const std::vector<std::string>& known, loaded& into);
void name_variables(const source& from, const json& file, const json& tree, std::vector<fault>& faults);

}  // namespace sluice::config
