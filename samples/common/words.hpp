// The command line of the small samples: --store URL, --help, and options of their own.
#pragma once

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <sluice/error.hpp>

namespace sample {

// By option, as "--orders"; who calls puts the defaults.
struct words {
  std::string store = "sqlite::memory:";
  std::map<std::string, bool> switches{};
  std::map<std::string, unsigned> numbers{};
  std::map<std::string, std::string> texts{};
};

// The same work without throttlers: what they are for is seen, and promises are broken.
inline const std::map<std::string, bool> may_be_unthrottled{{"--unthrottled", false}};

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

inline words read_words(int argc, char** argv, const char* usage, words read = {}) {
  const auto refuse = [&](const std::string& why) { die(why + "\n\n" + usage, 2); };
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--help" || option == "-h") std::exit(std::printf("%s", usage) < 0 ? 1 : 0);
    if (read.switches.contains(option)) {
      read.switches[option] = true;
      continue;
    }
    const auto number = read.numbers.find(option);
    const auto text = read.texts.find(option);
    if (option != "--store" && number == read.numbers.end() && text == read.texts.end())
      refuse("unknown option " + option);
    if (++i == argc) refuse(option + " needs a value");
    const std::string value = argv[i];
    if (number == read.numbers.end()) {
      (option == "--store" ? read.store : text->second) = value;
      continue;
    }
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number->second);
    if (code != std::errc() || end != value.data() + value.size() || number->second < 1 || number->second > 10'000)
      refuse(option + " is a whole number from 1 to 10000, not '" + value + "'");
  }
  return read;
}

}  // namespace sample
