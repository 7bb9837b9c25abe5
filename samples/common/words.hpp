// The command line of the small samples: --store URL, --unthrottled, --help, and numbers of their own.
#pragma once

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <sluice/error.hpp>

namespace sample {

struct words {
  std::string store = "sqlite::memory:";
  bool unthrottled = false;  // the same work without throttlers: what they are for is seen, and promises are broken
  std::map<std::string, unsigned> numbers;  // by option, as "--orders"; who calls puts the defaults
};

[[noreturn]] inline void die(const std::string& what, int code = 1) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(code);
}

// The value, or the end of the program: a sample has nobody to hand an error to.
template <class T>
T must(sluice::result<T> r) {
  if (!r) die(sluice::to_string(r.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

inline words read_words(int argc, char** argv, const char* usage, std::map<std::string, unsigned> numbers = {}) {
  words read;
  read.numbers = std::move(numbers);
  const auto refuse = [&](const std::string& why) { die(why + "\n\n" + usage, 2); };
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--help" || option == "-h") std::exit(std::printf("%s", usage) < 0 ? 1 : 0);
    if (option == "--unthrottled") {
      read.unthrottled = true;
      continue;
    }
    const auto number = read.numbers.find(option);
    if (option != "--store" && number == read.numbers.end()) refuse("unknown option " + option);
    if (++i == argc) refuse(option + " needs a value");
    const std::string value = argv[i];
    if (option == "--store") {
      read.store = value;
      continue;
    }
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number->second);
    if (code != std::errc() || end != value.data() + value.size() || number->second < 1 || number->second > 10'000)
      refuse(option + " is a whole number from 1 to 10000, not '" + value + "'");
  }
  return read;
}

}  // namespace sample
