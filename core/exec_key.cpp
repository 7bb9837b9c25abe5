#include <sluice/exec_key.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <stdexcept>

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/handler.hpp>

#include "core/clock.hpp"
#include "core/text.hpp"

namespace sluice {
namespace {

constexpr std::size_t shortest_key = 32;
constexpr std::size_t longest_file = 64 * 1024;
constexpr const char* new_key = "make one by: umask 077; openssl rand -hex 32 > FILE";

error cannot_be(const std::string& file, const std::string& why) {
  return {errc::invalid_argument, cat("the key file ", printable(file, 200), " ", why)};
}

class open_file {
public:
  explicit open_file(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~open_file() {
    if (fd_ >= 0) ::close(fd_);
  }
  open_file(const open_file&) = delete;
  int get() const { return fd_; }

private:
  int fd_;
};

// As netstrings, so that no two lists of fields are one text.
std::string fields(std::initializer_list<std::string_view> all) {
  std::string text;
  for (const auto one : all)
    text += cat(one.size(), ':', one, ',');
  return text;
}

std::string signature(const std::string& key, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  if (!::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
              reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data(), &size))
    throw std::runtime_error("OpenSSL cannot compute an HMAC-SHA256");  // else all had the same signature
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "v1=";
  for (unsigned i = 0; i < size; ++i) {
    out += digits[bytes[i] >> 4];
    out += digits[bytes[i] & 15];
  }
  return out;
}

// Takes as long wherever they differ.
bool same(const std::string& a, const std::string& b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string text_of_job(const job_id& id, const job_type& type, const queue_name& queue, const std::string& args) {
  return fields({"job", id.value, type.value, queue.value, args});
}
std::string text_of_schedule(const std::string& name, const job_type& type, const queue_name& queue,
                             const std::string& args) {
  return fields({"schedule", name, type.value, queue.value, args});
}

error no_queue(std::string_view what) {
  return {errc::invalid_argument, cat("the ", what,
                                      " names no queue, and what is signed must: say queue=default, or "
                                      "another")};
}

class signing final : public filter {
public:
  signing(std::string key_file, queue_name otherwise)
      : key_file_(std::move(key_file)), otherwise_(std::move(otherwise)) {}

  result<void> on_enqueue(new_job& job) override {
    // It was made of what the store says, by whomever that was set; who had the key has signed it there.
    if (job.headers.contains(recurring_header)) return {};
    if (job.queue.empty()) job.queue = otherwise_;
    const auto key = exec_key::read(key_file_);
    return key ? key->sign(job) : result<void>(key.error());
  }

private:
  std::string key_file_;
  queue_name otherwise_;
};

}  // namespace

result<exec_key> exec_key::read(const std::string& file) {
  const auto unreadable = [&] {
    return error{errc::io_error, cat("cannot read the key file ", printable(file, 200), ": ", std::strerror(errno))};
  };
  const open_file opened(file);
  struct stat seen {};
  if (opened.get() < 0 || ::fstat(opened.get(), &seen) != 0) return unreadable();
  if (!S_ISREG(seen.st_mode)) return cannot_be(file, "is no file");
  if ((seen.st_mode & (S_IRWXO | S_IWGRP)) != 0)
    return cannot_be(file, cat("can be read by others, or changed by its group: chmod 600 ", printable(file, 200)));
  std::string text(longest_file, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size(); size += static_cast<std::size_t>(got))
    if ((got = ::read(opened.get(), text.data() + size, text.size() - size)) < 0) return unreadable();
  if (size == text.size()) return cannot_be(file, cat("has ", longest_file, " bytes or more: it holds a key a line"));
  text.resize(size);
  text.erase(0, text.size() - without_bom(text).size());

  exec_key made;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    auto line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
      line.pop_back();
    if (line.empty()) continue;
    if (line.size() < shortest_key)
      return cannot_be(file, cat("has ", line.size(), " bytes in line ", number,
                                 ", and each line is a key of at least ", shortest_key, "; ", new_key));
    made.keys_.push_back(std::move(line));
  }
  if (made.keys_.empty()) return cannot_be(file, cat("is empty; ", new_key));
  return made;
}

result<void> exec_key::sign(new_job& job) const {
  if (job.queue.empty()) return no_queue("job");
  if (job.id.empty()) job.id = make_job_id(system_clock().now());
  job.headers[signature_header] = signature(keys_.front(), text_of_job(job.id, job.type, job.queue, job.args));
  return {};
}

result<void> exec_key::sign(recurring& schedule) const {
  if (schedule.queue.empty()) return no_queue("schedule");
  schedule.headers[signature_header] =
      signature(keys_.front(), text_of_schedule(schedule.name, schedule.job, schedule.queue, schedule.args));
  return {};
}

result<void> exec_key::check(const job_context& run) const {
  const auto header = [&](const char* name) {
    const auto found = run.headers().find(name);
    return found == run.headers().end() ? std::string() : found->second;
  };
  const auto given = header(signature_header);
  const auto schedule = header(recurring_header);
  const auto again = schedule.empty() ? std::string(
                                            "enqueue it by `sluice enqueue --exec-key FILE`, or sign it by "
                                            "<sluice/exec_key.hpp>")
                                      : cat("set its schedule by `sluice recurring set ", printable(schedule, 200),
                                            " ... --exec-key FILE`");
  if (given.empty()) return error{errc::refused, cat("it is not signed (/exec/key_file): ", again)};
  const auto fits = [&](const std::string& text) {
    return std::any_of(keys_.begin(), keys_.end(),
                       [&](const std::string& key) { return same(given, signature(key, text)); });
  };
  if (fits(text_of_job(run.id(), run.type(), run.queue(), run.args()))) return {};
  // The name stands in the id, so that no job of another name has this signature.
  const bool is_of_schedule = !schedule.empty() && run.id().value.starts_with(schedule + ":");
  if (is_of_schedule && fits(text_of_schedule(schedule, run.type(), run.queue(), run.args()))) return {};
  constexpr auto other = "its signature is of another key (/exec/key_file), or of another id, type, queue or args: ";
  return error{errc::refused, cat(other, again)};
}

filter_entry signing_exec_jobs(std::string key_file, queue_name otherwise) {
  return {std::make_shared<signing>(std::move(key_file), std::move(otherwise)), std::numeric_limits<int>::max(),
          job_type(exec_job_type)};
}

}  // namespace sluice
