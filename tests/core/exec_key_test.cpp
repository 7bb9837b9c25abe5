#include <sluice/exec_key.hpp>

#include <sys/stat.h>

#include <sluice/handler.hpp>

#include "core/codec.hpp"
#include "core/pipeline.hpp"
#include "core/recurring.hpp"
#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

using namespace sluice;

namespace {

const std::string first_key = "0123456789abcdef0123456789abcdef";
const std::string second_key = "fedcba9876543210fedcba9876543210";

struct key_world {
  test::temp_dir folder;
  const std::string file = folder.file("exec.key");

  exec_key key(const std::string& text = first_key) const {
    write(text);
    auto read = exec_key::read(file);
    REQUIRE(read);
    return *read;
  }
  std::string why_not(const std::string& text, mode_t mode = 0600) const {
    write(text, mode);
    const auto read = exec_key::read(file);
    REQUIRE_FALSE(read);
    return read.error().message;
  }
  void write(const std::string& text, mode_t mode = 0600) const {
    test::write_file(file, text);
    REQUIRE(::chmod(file.c_str(), mode) == 0);
  }
};

new_job backup() {
  new_job job;
  job.id = job_id("backup-1");
  job.type = job_type("exec");
  job.queue = queue_name("default");
  job.args = R"({"argv": ["date"]})";
  return job;
}

recurring nightly() {
  recurring r;
  r.name = "nightly";
  r.job = job_type("exec");
  r.queue = queue_name("default");
  r.args = R"({"argv": ["date"]})";
  return r;
}

// A job that a schedule has enqueued.
new_job occurrence(const recurring& r, const std::string& id = "nightly:2026-03-08T03:00:00.000Z") {
  new_job job;
  job.id = job_id(id);
  job.type = r.job;
  job.queue = r.queue;
  job.args = r.args;
  job.headers = {{recurring_header, r.name}, {signature_header, r.headers.at(signature_header)}};
  return job;
}

result<void> checked(const exec_key& by, const new_job& stored) {
  job about;
  about.id = stored.id;
  about.type = stored.type;
  about.queue = stored.queue;
  about.args = stored.args;
  about.headers = stored.headers;
  return by.check(job_context(about, {}));
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE_METHOD(key_world, "a key file may be written by any editor") {
  const auto signature_of = [&](const std::string& text) {
    auto job = backup();
    REQUIRE(key(text).sign(job));
    return job.headers.at(signature_header);
  };
  const auto plain = signature_of(first_key);
  CHECK(signature_of(first_key + "\r\n") == plain);
  CHECK(signature_of("\xEF\xBB\xBF" + first_key + "\r\n") == plain);
}

TEST_CASE_METHOD(key_world, "a signature is HMAC-SHA256 of netstrings: what it is of, id or name, type, queue, args") {
  auto job = backup();
  REQUIRE(key().sign(job));
  CHECK(job.headers.at(signature_header) == "v1=10daa9d8937b374bcceef9f7ca0d3a45a5f0313a7cda7a344f5fa59888cd5325");
  auto schedule = nightly();
  REQUIRE(key().sign(schedule));
  CHECK(schedule.headers.at(signature_header) == "v1=ae5209fa39b5b1ef16f15cd95470a53fa6249c43eb5e53041d324f1d65e28a85");
}

TEST_CASE_METHOD(key_world, "a signed job runs, and none with its signature and another id, type, queue or args") {
  const auto by = key();
  auto job = backup();
  REQUIRE(by.sign(job));
  CHECK(checked(by, job));
  auto id = job, type = job, queue = job, args = job, shifted = job;
  id.id.value = "backup-2";
  type.type.value = "exec2";
  queue.queue.value = "other";
  args.args = R"({"argv": ["rm"]})";
  shifted.id.value = "backup-";
  shifted.type.value = "1exec";
  for (const auto& copy : {id, type, queue, args, shifted}) {
    const auto refused = checked(by, copy);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::refused);
    CHECK(says(refused.error().message, "of another id, type, queue or args"));
    CHECK(says(refused.error().message, "sluice enqueue --exec-key FILE"));
  }
}

TEST_CASE_METHOD(key_world, "a job that is not signed, or by another key, is refused and told what to do") {
  const auto by = key();
  CHECK(says(checked(by, backup()).error().message, "not signed"));
  auto job = backup();
  job.headers[signature_header] = "v1=";
  CHECK_FALSE(checked(by, job));
  REQUIRE(key(second_key).sign(job));
  CHECK(says(checked(by, job).error().message, "is of another key"));
}

TEST_CASE_METHOD(key_world, "a schedule signs its jobs, whenever they run, and none of another schedule") {
  const auto by = key();
  auto schedule = nightly();
  REQUIRE(by.sign(schedule));
  CHECK(checked(by, occurrence(schedule)));
  CHECK(checked(by, occurrence(schedule, triggered_id("nightly", time_point()).value)));
  auto renamed = schedule, queue = schedule, args = schedule;
  renamed.name = "backup";
  queue.queue.value = "other";
  args.args = R"({"argv": ["rm"]})";
  for (const auto& job :
       {occurrence(schedule, "backup:2026-03-08T03:00:00.000Z"), occurrence(schedule, "nightly"),
        occurrence(renamed, "backup:2026-03-08T03:00:00.000Z"), occurrence(queue), occurrence(args)}) {
    CAPTURE(job.id.value);
    const auto refused = checked(by, job);
    REQUIRE_FALSE(refused);
    CHECK(says(refused.error().message, "sluice recurring set"));
  }
  auto alone = occurrence(schedule);
  alone.headers.erase(recurring_header);
  CHECK_FALSE(checked(by, alone));
}

TEST_CASE_METHOD(key_world, "what is signed names its queue, and a job without an id is given one") {
  auto job = backup();
  job.id = {};
  REQUIRE(key().sign(job));
  CHECK_FALSE(job.id.empty());
  CHECK(checked(key(), job));
  job.queue = {};
  CHECK(key().sign(job).error().code == errc::invalid_argument);
  auto schedule = nightly();
  schedule.queue = {};
  CHECK(key().sign(schedule).error().code == errc::invalid_argument);
}

TEST_CASE_METHOD(key_world, "the first line of a key file signs, and each is accepted") {
  auto old = backup();
  REQUIRE(key(first_key).sign(old));
  const auto both = key(second_key + "\r\n\n" + first_key + "\n");
  auto now = backup();
  REQUIRE(both.sign(now));
  CHECK(checked(both, old));
  CHECK(checked(both, now));
  CHECK(checked(key(second_key), now));
  CHECK_FALSE(checked(key(second_key), old));
}

TEST_CASE_METHOD(key_world, "a key file that others may read, or that holds no good key, says what helps") {
  for (const mode_t mode : {0604, 0602, 0601, 0620, 0666})
    CHECK(says(why_not(first_key, mode), "chmod 600 " + file));
  write(first_key, 0640);  // whom its owner lets in by the group
  CHECK(exec_key::read(file));
  CHECK(says(why_not(""), "openssl rand -hex 32"));
  CHECK(says(why_not("\n \n"), "is empty"));
  const auto why = why_not(first_key + "\n" + first_key.substr(1));
  CHECK(says(why, "31 bytes in line 2"));
  CHECK_FALSE(says(why, first_key.substr(1)));
  CHECK(says(why_not(std::string(70'000, 'k')), "bytes or more"));
  CHECK(says(exec_key::read(folder.path().string()).error().message, "is no file"));
  const auto missing = exec_key::read(folder.file("none"));
  CHECK(missing.error().code == errc::io_error);
  CHECK(says(missing.error().message, folder.file("none")));
}

TEST_CASE_METHOD(key_world, "a client's last filter signs exec jobs as they are stored, and no others") {
  struct renames final : filter {
    result<void> on_enqueue(new_job& job) override {
      job.args = R"({"argv": ["uptime"]})";
      return {};
    }
  };
  const auto by = key();
  const enqueue_pipeline pipeline({signing_exec_jobs(file, queue_name("night")), {std::make_shared<renames>(), 99}},
                                  {});
  new_job job;
  job.type = job_type("exec");
  const auto ready = pipeline.prepare(job, time_point());
  REQUIRE(ready);
  const auto stored = decode_content(ready->id, ready->record);
  REQUIRE(stored);
  CHECK(stored->queue.value == "night");
  new_job as_stored;
  as_stored.id = ready->id;
  as_stored.type = stored->type;
  as_stored.queue = stored->queue;
  as_stored.args = stored->args;
  as_stored.headers = stored->headers;
  CHECK(checked(by, as_stored));
  write(first_key, 0644);
  CHECK(says(pipeline.prepare(job, time_point()).error().message, "chmod 600"));
  job.type = job_type("mail");
  CHECK(pipeline.prepare(job, time_point()));
}
