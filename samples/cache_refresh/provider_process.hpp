// For who has no provider at hand: the program cache_provider, beside this one, on a free port.
#pragma once

#include <array>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace sample {

class provider_process {
public:
  // Throws std::runtime_error when it does not say where it listens.
  provider_process() {
    const auto program = std::filesystem::read_symlink("/proc/self/exe").replace_filename("cache_provider").string();
    output_ = ::popen(("exec '" + program + "'").c_str(), "r");
    std::array<char, 200> line{};
    if (!output_ || !std::fgets(line.data(), line.size(), output_)) {
      if (output_) ::pclose(output_);
      throw std::runtime_error("there is no provider: " + program + " did not start");
    }
    url_ = line.data();
    url_.pop_back();  // the end of the line
  }
  ~provider_process() { ::pclose(output_); }  // it ends when nobody reads what it says
  provider_process(const provider_process&) = delete;

  const std::string& url() const { return url_; }

private:
  std::FILE* output_ = nullptr;
  std::string url_;
};

}  // namespace sample
