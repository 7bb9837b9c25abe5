#include "common/fetch.hpp"

#include <curl/curl.h>

#include <memory>
#include <stdexcept>

namespace sample {
namespace {

constexpr long timeout_ms = 2000;

struct curl_closer {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

std::size_t append(const char* bytes, std::size_t size, std::size_t count, void* body) {
  static_cast<std::string*>(body)->append(bytes, size * count);
  return size * count;
}

CURL* handle_of_this_thread() {
  thread_local const std::unique_ptr<CURL, curl_closer> handle(curl_easy_init());
  if (!handle) throw std::runtime_error("libcurl gave no handle");
  return handle.get();
}

}  // namespace

curl_library::curl_library() {
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw std::runtime_error("libcurl cannot be initialized");
}
curl_library::~curl_library() { curl_global_cleanup(); }

std::string fetch(const std::string& url) {
  auto* const handle = handle_of_this_thread();
  std::string body;
  curl_easy_reset(handle);  // the options; connections stay
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");  // whoever is asked is asked directly, whatever http_proxy says
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, timeout_ms);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &body);
  if (const auto code = curl_easy_perform(handle); code != CURLE_OK)
    throw std::runtime_error("GET " + url + ": " + curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) throw std::runtime_error("GET " + url + " answered " + std::to_string(status));
  return body;
}

}  // namespace sample
