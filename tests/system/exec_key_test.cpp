// Servers that have a key run the programs of whoever has it, and nobody else's.
#include <sys/stat.h>

#include <sluice/exec_key.hpp>

#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/redis_server.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using names = std::vector<std::string>;

const std::string key_text = "0123456789abcdef0123456789abcdef";

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A store of both kinds, one after the other, and a server with a key on it. What ran says so in a file.
struct keyed_world {
  const bool on_redis = GENERATE(false, true);
  std::optional<redis_server> redis = on_redis ? std::make_optional<redis_server>() : std::nullopt;
  temp_dir secrets;
  const std::string key = key_file("exec.key", key_text);
  const std::string heard = secrets.file("heard");
  work_world w{{{"exec", {{"key_file", key}}},
                {"recurring", {{"configured", {{"job", "exec"}, {"args", says_args("configured")}, {"every", "1s"}}}}}},
               redis ? redis->url() : std::string()};
  process server = w.work();

  std::string key_file(const std::string& name, const std::string& text) const {
    write_file(secrets.file(name), text);
    ::chmod(secrets.file(name).c_str(), 0600);
    return secrets.file(name);
  }
  json says_args(const std::string& word) const { return {{"argv", {"sh", "-c", "echo " + word + " >> " + heard}}}; }
  int times(const std::string& word) const { return lines_of(heard)[word]; }

  void enqueue(const std::string& word, names more = {}) {
    names words{"enqueue", "default", "exec", says_args(word).dump()};
    words.insert(words.end(), more.begin(), more.end());
    const auto done = w.sluice(words);
    INFO(done.err);
    REQUIRE(done.exit_code == 0);
  }
  bool ends_as(const std::string& id, job_state state) {
    return eventually([&] {
      const auto found = w.client->get(job_id(id));
      return found && found->state == state;
    });
  }
  // Failed at once and for good.
  std::string refusal(const std::string& id) {
    REQUIRE(ends_as(id, job_state::failed));
    const auto j = w.get(id);
    CHECK(j.attempt == 1);
    return j.history.back().error;
  }
};

}  // namespace

TEST_CASE_METHOD(keyed_world, "a server with a key runs what is signed with it, and tells of others once what to do") {
  enqueue("signed", {"--id", "signed", "--exec-key", key});
  enqueue("unsigned", {"--id", "unsigned"});
  enqueue("foreign", {"--id", "foreign", "--exec-key", key_file("other.key", std::string(32, 'x'))});
  REQUIRE(ends_as("signed", job_state::succeeded));
  const auto why = refusal("unsigned");
  CHECK(says(why, "nothing was run, for it is not signed"));
  CHECK(says(why, "sluice enqueue --exec-key FILE"));
  CHECK(says(refusal("foreign"), "another key"));
  REQUIRE(eventually([&] { return says(server.log(), "job foreign"); }));
  const auto log = server.log();
  CHECK(says(log, "error job unsigned (exec): failed: exec: nothing was run"));
  CHECK(log.find("job unsigned") == log.rfind("job unsigned"));

  REQUIRE(w.sluice({"requeue", "signed", "unsigned"}).exit_code == 0);
  REQUIRE(eventually([&] { return times("signed") == 2; }));
  CHECK(refusal("unsigned") == why);
  CHECK(times("unsigned") == 0);
  CHECK(times("foreign") == 0);
}

TEST_CASE_METHOD(keyed_world, "the signature of a job is worth nothing to another") {
  w.configure("moved.json", {{"queues", {{"moved", json::object()}}}, {"exec", {{"key_file", key}}}});
  auto also = w.work("moved.log", "moved.json");
  const auto by = exec_key::read(key);
  REQUIRE(by);
  const auto signed_job = [&](const std::string& id) {
    auto job = work_world::exec("echo copied >> " + heard, id);
    REQUIRE(by->sign(job));
    return job;
  };
  auto id = signed_job("a"), queue = signed_job("b"), args = signed_job("c");
  id.id = job_id("a-copy");
  queue.queue = queue_name("moved");
  args.args = says_args("changed").dump();
  w.enqueue({id, queue, args});
  for (const auto* refused : {"a-copy", "b", "c"})
    CHECK(says(refusal(refused), "another id, type, queue or args"));
  CHECK(times("copied") == 0);
  CHECK(times("changed") == 0);
  w.enqueue({signed_job("as-signed")});
  REQUIRE(ends_as("as-signed", job_state::succeeded));
  CHECK(times("copied") == 1);
}

TEST_CASE_METHOD(keyed_world, "jobs of a file and of lines are signed each") {
  const auto lines = secrets.file("lines");
  write_file(lines, says_args("line").dump() + "\n" + says_args("line").dump() + "\n");
  REQUIRE(w.sluice({"enqueue", "default", "exec", "@" + lines, "--bulk", "--exec-key", key}).exit_code == 0);
  write_file(lines, json{{"type", "exec"}, {"id", "a"}, {"args", says_args("all")}}.dump() + "\n" +
                        json{{"type", "exec"}, {"args", says_args("all")}, {"after", {"a"}}}.dump() + "\n");
  ::setenv("SLUICE_EXEC__KEY_FILE", key.c_str(), 1);
  const auto done = w.sluice({"enqueue-all", lines});
  ::unsetenv("SLUICE_EXEC__KEY_FILE");
  REQUIRE(done.exit_code == 0);
  CHECK(eventually([&] { return times("line") == 2 && times("all") == 2; }));
}

TEST_CASE_METHOD(keyed_world,
                 "a schedule is signed when it is set, and by the server in whose configuration it stands") {
  const auto set = [&](const std::string& name, names more) {
    names words{"recurring", "set", name, "job=exec", "args=" + says_args(name).dump(), "every=1s"};
    words.insert(words.end(), more.begin(), more.end());
    return w.sluice(words);
  };
  CHECK(says(set("nowhere", {"--exec-key", key}).err, "queue=default"));
  REQUIRE(set("mine", {"queue=default", "--exec-key", key}).exit_code == 0);
  REQUIRE(set("theirs", {"queue=default"}).exit_code == 0);
  REQUIRE(w.sluice({"recurring", "trigger", "mine"}).exit_code == 0);
  CHECK(eventually([&] { return times("mine") > 1 && times("configured") > 0; }));

  const auto triggered = w.sluice({"recurring", "trigger", "theirs"});
  REQUIRE(triggered.exit_code == 0);
  CHECK(says(refusal(triggered.out.substr(0, triggered.out.find('\n'))), "sluice recurring set theirs"));
  // Who has the key signs nothing by it that somebody else has set.
  auto keyed = sluice::client::open({w.url, 20s, {signing_exec_jobs(key)}, {}});
  REQUIRE(keyed.ok());
  const auto by_hand = keyed->trigger_recurring("theirs");
  REQUIRE(by_hand.ok());
  refusal(by_hand->value);
  CHECK(times("theirs") == 0);

  // What a schedule was signed for is what its jobs may do, under ids of its name.
  const auto signature = w.client->recurring_job("mine", 1)->status.definition->headers.at(signature_header);
  auto moved = work_world::exec("echo moved >> " + heard, "elsewhere:1");
  auto changed = work_world::exec("echo moved >> " + heard, "mine:2026-03-08T03:00:00.000Z");
  moved.args = says_args("mine").dump();
  for (auto* job : {&moved, &changed})
    job->headers = {{recurring_header, "mine"}, {signature_header, signature}};
  w.enqueue({moved, changed});
  refusal("elsewhere:1");
  refusal("mine:2026-03-08T03:00:00.000Z");
  CHECK(times("moved") == 0);
}

TEST_CASE("a key that others may read fails the start, and an enqueue that names it") {
  temp_dir secrets;
  const auto key = secrets.file("exec.key");
  write_file(key, key_text);
  ::chmod(key.c_str(), 0644);
  work_world w(json{{"exec", {{"key_file", key}}}});
  process p({program_path("sluice"), "work", w.folder.file("sluice.json")}, w.folder.file("work.log"));
  CHECK(p.exit_code(20s) == 1);
  CHECK(says(p.log(), "/exec/key_file"));
  CHECK(says(p.log(), "chmod 600 " + key));
  for (const auto* type : {"exec", "noop"}) {
    const auto refused = w.sluice({"enqueue", "default", type, R"({"argv": ["date"]})", "--exec-key", key});
    CHECK(refused.exit_code == 1);
    CHECK(says(refused.err, "chmod 600 " + key));
  }
}

}  // namespace sluice::test
