// Gets what a URL names, by libcurl.
#pragma once

#include <string>

namespace sample {

// libcurl's own beginning and end. One must live, made before the first thread, as long as anybody fetches.
class curl_library {
public:
  curl_library();  // throws std::runtime_error
  ~curl_library();
  curl_library(const curl_library&) = delete;
  curl_library& operator=(const curl_library&) = delete;
};

// The body of a 200. Anything else, a timeout too, is a std::runtime_error that says what came instead, so that a job
// that does not catch it is run again by its retry policy. Each thread keeps its connections open between calls.
std::string fetch(const std::string& url);

}  // namespace sample
