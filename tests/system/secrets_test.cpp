// What is secret is shown nowhere, whichever way a server was told of it.
#include <sys/stat.h>

#include <filesystem>
#include <sstream>

#include "core/text.hpp"
#include "dashboard/raw_client.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/redis_server.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using names = std::vector<std::string>;

// Each secret has this in it, and nothing else does.
const std::string mark = "hunter2";
const std::string store_password = mark + "store", sentinel_password = mark + "sentinel";

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void shows_none(const std::string& where, const std::string& text) {
  CAPTURE(where);
  CHECK_FALSE(text.empty());
  const auto at = text.find(mark);
  CHECK((at == std::string::npos ? std::string() : text.substr(at > 80 ? at - 80 : 0, 200)) == "");
}

class variables {
public:
  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  void clear() {
    for (const auto& name : set_)
      ::unsetenv(name.c_str());
    set_.clear();
  }
  ~variables() { clear(); }

private:
  names set_;
};

struct secret_files {
  temp_dir folder;
  std::string with(const std::string& name, const std::string& text) const {
    write_file(folder.file(name), text);
    ::chmod(folder.file(name).c_str(), 0600);
    return folder.file(name);
  }
  const std::string key = with("exec.key", mark + std::string(32, 'k'));
  const std::string anna = with("anna", mark + "anna");
  const std::string metrics = with("metrics", mark + "metrics");

  json settings() const {
    return {{"exec", {{"variables", {"*"}}, {"key_file", key}}},
            {"recurring", {{"nightly", {{"job", "exec"}, {"args", {{"argv", {"date"}}}}, {"cron", "0 3 * * *"}}}}},
            {"dashboard",
             {{"listen", "localhost:0"},
              {"metrics_token_file", metrics},
              {"users",
               {{"anna", {{"role", "admin"}, {"secret_file", anna}}},
                {"bert", {{"role", "viewer"}, {"secret_variable", "SECRET_OF_BERT"}}}}}}}};
  }
};

std::string asked(unsigned port, const std::string& target, const std::string& secret) {
  raw_client c(port);
  c.write(cat("GET ", target, " HTTP/1.1\r\nHost: localhost:", port, "\r\nAuthorization: Bearer ", secret, "\r\n\r\n"));
  return c.read_answer();
}

unsigned port_of(process& server) {
  const std::string where = "the dashboard listens at http://localhost:";
  REQUIRE(eventually([&] { return says(server.log(), where); }));
  const auto log = server.log();
  return static_cast<unsigned>(std::stoul(log.substr(log.find(where) + where.size())));
}

// A server that does its work and is asked all that it tells.
void look_at(work_world& w, process& server, const secret_files& files) {
  const json args{{"argv", {"sh", "-c", "env; tr '\\0' ' ' < /proc/$$/cmdline; ls -l /proc/$$/fd"}}};
  REQUIRE(w.sluice({"enqueue", "default", "exec", args.dump(), "--id", "child", "--exec-key", files.key}).exit_code ==
          0);
  REQUIRE(w.sluice({"enqueue", "default", "exec", args.dump(), "--id", "unsigned"}).exit_code == 0);
  REQUIRE(eventually(
      [&] { return w.get("child").state == job_state::succeeded && w.get("unsigned").state == job_state::failed; }));
  CHECK(says(w.get("child").result, "HARMLESS=seen"));
  shows_none("what a command sees", w.get("child").result);

  const auto pid = std::to_string(server.pid());
  std::istringstream children(read_file("/proc/" + pid + "/task/" + pid + "/children"));
  shows_none("its words", read_file("/proc/" + pid + "/cmdline"));
  int seen = 0;
  for (std::string child; children >> child; ++seen)
    shows_none("its guard's words", read_file("/proc/" + child + "/cmdline"));
  CHECK(seen > 0);

  for (const auto& words : {names{"servers", "--json"},
                            {"jobs", "--json"},
                            {"show", "child", "--json"},
                            {"recurring", "list", "--json"},
                            {"queues", "--json"},
                            {"show", "unsigned"}}) {
    const auto said = w.sluice(words);
    CHECK(said.exit_code == 0);
    shows_none(words.front(), said.out + said.err);
  }
  const auto port = port_of(server);
  for (const auto* target : {"/", "/api/v1/overview", "/api/v1/servers", "/api/v1/jobs/child", "/api/v1/schedules"})
    shows_none(target, asked(port, target, mark + "anna"));
  CHECK(says(asked(port, "/api/v1/servers", mark + "bert"), pid));
  CHECK(says(asked(port, "/metrics", mark + "metrics"), "sluice_"));
  shows_none("metrics", asked(port, "/metrics", mark + "metrics"));
  shows_none("a login that fails", asked(port, "/api/v1/servers", mark + "wrong"));
  shows_none("its log", server.log());
}

}  // namespace

TEST_CASE("a server on Redis shows no secret, however it was told of it") {
  const redis_server redis({.tcp = true, .password = store_password});
  redis.command({"CONFIG", "SET", "rdbcompression", "no"});
  const secret_files files;
  const auto local = cat("redis://127.0.0.1:", redis.port(), "/0");
  auto settings = files.settings();
  names words;
  variables set;
  set.set("SECRET_OF_BERT", mark + "bert");
  set.set("HARMLESS", "seen");
  set.set("SLUICE_OF_ANOTHER", mark);
  std::optional<redis_sentinel> sentinel;
  const auto by_sentinel = [&](const std::string& more) {
    sentinel.emplace("mine", redis.port(), store_password);
    sentinel->command({"CONFIG", "SET", "requirepass", sentinel_password});
    REQUIRE(!sentinel->command({"ACL", "SETUSER", "default", "on", ">" + sentinel_password}).is_error());
    settings["storage"] = cat("redis+sentinel://:", store_password, "@127.0.0.1:", sentinel->port(), "/mine/0?", more);
  };
  const auto how =
      GENERATE(as<std::string>{}, "in the file", "in a word", "in the variable of the storage", "in a file of its own",
               "in a variable of its own", "with that of sentinels in a file", "with that of sentinels in a variable");
  CAPTURE(how);
  settings["storage"] = how == "in the file" ? redis.tcp_url() : std::string("sqlite:other.db");
  if (how == "in a word") words = {"--set", "/storage=" + redis.tcp_url()};
  if (how == "in the variable of the storage") set.set("SLUICE_STORAGE", redis.tcp_url());
  if (how == "in a file of its own")
    settings["storage"] = local + "?password_file=" + files.with("store", store_password);
  if (how == "in a variable of its own") {
    set.set("SECRET_OF_STORE", store_password);
    settings["storage"] = local + "?password_variable=SECRET_OF_STORE";
  }
  if (how == "with that of sentinels in a file")
    by_sentinel("sentinel_password_file=" + files.with("sentinel", sentinel_password));
  if (how == "with that of sentinels in a variable") {
    set.set("SECRET_OF_SENTINEL", sentinel_password);
    by_sentinel("sentinel_password_variable=SECRET_OF_SENTINEL");
  }
  work_world w(settings, redis.tcp_url());
  names all{program_path("sluice"), "work", w.folder.file("sluice.json"), "--log-level", "debug"};
  all.insert(all.end(), words.begin(), words.end());
  auto server = w.serve(std::move(all), "work.log");
  set.clear();
  look_at(w, server, files);
  int seen = 0;
  for (const auto& key : redis.command({"KEYS", "*"}).elements) {
    const auto bytes = redis.command({"DUMP", key.text}).text;
    if (bytes.empty()) continue;  // the server goes on: the key has left meanwhile
    shows_none(key.text, bytes);
    ++seen;
  }
  CHECK(seen > 5);
}

TEST_CASE("nothing secret stands in the file of a store, nor beside it") {
  const secret_files files;
  variables set;
  set.set("SECRET_OF_BERT", mark + "bert");
  set.set("HARMLESS", "seen");
  work_world w(files.settings());
  auto server = w.work();
  set.clear();
  look_at(w, server, files);
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(w.folder.path())) {
    const auto text = read_file(entry.path().string());
    if (text.empty()) continue;  // locks
    shows_none(entry.path().filename().string(), text);
    ++seen;
  }
  CHECK(seen >= 3);
}

TEST_CASE("what is said of wrong words and wrong configurations shows no secret of them") {
  const temp_dir folder;
  const secret_files files;
  const auto file = [&](const std::string& text) {
    write_file(folder.file("wrong.json"), text);
    return folder.file("wrong.json");
  };
  const auto nobody = "redis://user:" + store_password + "@127.0.0.1:1/0";
  const auto wrong = [&](names words) {
    words.insert(words.begin(), program_path("sluice"));
    const auto said = run(words, folder.path().string());
    CHECK(said.exit_code != 0);
    shows_none(words[1], said.out + said.err);
  };
  for (const auto& url : {nobody, "redsi://user:" + store_password + "@host", nobody + "?unknown=1",
                          "redis://user:" + store_password + "@host:99999", "redis://:a/" + store_password + "@host",
                          "redis://:a?" + store_password + "@host"}) {
    wrong({"queues", "--store", url});
    wrong({"queues", url});
    wrong({"qeues", "--store", url});
    wrong({"jobs", "--store", url, "--state", url});
    wrong({"work", file("{}"), "--set", "storage=" + url});
    wrong({"work", file("{}"), "--set", "/storage/url=" + url});
    wrong({"work", file("{}"), "--set", "/lease=" + url});
    wrong({"check", file(R"({"storage": ")" + url + R"(", "lease": 1})")});
    wrong({"check", file(R"({"storage": ")" + url + R"(" "lease": "1s"})")});
    wrong({"check", file(R"({"storage": [")" + url + R"("]})")});
    wrong({"enqueue", "default", "exec", "{", "--store", url});
    wrong({"recurring", "set", "name", "job=exec", "every=1s", "zone=" + url, "--store", url});
    wrong({"throttler", "set", url, "limit=1", "--store", "sqlite:jobs.db"});
  }
  // A secret that is too short, and one that two have.
  const auto short_key = files.with("short.key", mark);
  const auto work = [&](const json& settings) {
    wrong({"work", file(settings.dump()), "--set", "/storage=sqlite:" + folder.file("jobs.db")});
  };
  work({{"allow_exec", true}, {"exec", {{"key_file", short_key}}}});
  const auto user = [&](const std::string& of) { return json{{"secret_file", of}}; };
  const auto bad = files.with("bad", mark.substr(0, 7));
  work({{"dashboard", {{"listen", "localhost:0"}, {"users", {{"a", user(bad)}}}}}});
  work({{"dashboard", {{"listen", "localhost:0"}, {"users", {{"a", user(files.anna)}, {"b", user(files.anna)}}}}}});
  wrong({"enqueue", "default", "exec", "{}", "--store", "sqlite:" + folder.file("jobs.db"), "--exec-key", short_key});
}

}  // namespace sluice::test
