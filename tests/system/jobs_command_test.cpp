// How jobs are stored, found and changed in numbers by the `sluice` command.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/clock.hpp"
#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

std::vector<std::string> ids_in(const std::string& lines) {
  std::vector<std::string> found;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);)
    if (const auto one = nlohmann::json::parse(line); one.contains("id")) found.push_back(one.at("id"));
  return found;
}

// The last of the lines, that says where the list goes on.
nlohmann::json next_in(const std::string& lines) {
  const auto last = lines.rfind('\n', lines.size() - 2);
  return nlohmann::json::parse(lines.substr(last + 1));
}

using names = std::vector<std::string>;

}  // namespace

TEST_CASE("jobs are read from a file and found by what they are") {
  work_world w;
  const auto file = w.folder.file("lines");
  write_file(file, "{\"n\":1}\n{\"n\":2}\n\n{\"n\":2}\n");
  const std::vector<std::string> bulk = {"enqueue", "default",  "noop",     "@" + file,    "--bulk",
                                         "--id",    "one-line", "--header", "tenant=north"};
  for (int i = 0; i < 2; ++i) {  // the same lines again are the same jobs
    const auto stored = w.sluice(bulk);
    CHECK(stored.out == "one-line:1\none-line:2\none-line:4\n");
    CHECK(stored.exit_code == 0);
  }
  write_file(file, "{\"whole\": [1,\n 2]}\n");
  const auto in_days = [](int n) { return format_time(system_clock().now() + n * 24h); };
  const auto later = w.sluice({"enqueue", "other", "noop", "@" + file, "--id", "later", "--at", in_days(100),
                               "--timeout", "30s", "--retries", "2"});
  REQUIRE(later.exit_code == 0);
  const auto shown = w.get("later");
  CHECK(shown.args == "{\"whole\": [1,\n 2]}");
  CHECK(shown.state == job_state::scheduled);
  CHECK(shown.timeout == duration(30s));
  CHECK(shown.retry.attempts == 2u);

  const auto find = [&](names words) {
    words.insert(words.begin(), {"jobs", "--json"});
    const auto said = w.sluice(std::move(words));
    CHECK(said.exit_code == 0);
    return ids_in(said.out);
  };
  CHECK(find({"--match", "n=2"}) == names{"one-line:2", "one-line:4"});
  CHECK(find({"--header", "tenant=north", "--id-begins", "one-line:1"}) == names{"one-line:1"});
  CHECK(find({"--header", "tenant=south"}).empty());
  CHECK(find({"--since", in_days(99)}) == names{"later"});
  CHECK(find({"--since", "1h", "--until", in_days(99)}).size() == 3);
  CHECK(find({"--type", "exec"}).empty());

  const auto first = w.sluice({"jobs", "--state", "enqueued", "--limit", "2", "--json"});
  CHECK(ids_in(first.out) == names{"one-line:1", "one-line:2"});
  CHECK(first.err.empty());
  const auto next = next_in(first.out);
  CHECK(next.at("records_read") == 2);
  const std::string after = next.at("next");
  CHECK(find({"--state", "enqueued", "--after", after}) == names{"one-line:4"});
  CHECK(w.sluice({"jobs", "--state", "enqueued", "--limit", "2"}).err ==
        "sluice: 2 of 3 are shown; the next: sluice jobs --state enqueued --limit 2 --store " + w.url + " --after " +
            after + "\n");
}

TEST_CASE("lines of jobs may end in CR LF, as editors of Windows end them") {
  work_world w;
  const auto file = w.folder.file("lines");
  write_file(file, "\xEF\xBB\xBF{\"n\":1}\r\n\r\n\n{\"n\":2}\r\n{\"n\":3}");
  const auto bulk = w.sluice({"enqueue", "default", "noop", "@" + file, "--bulk", "--id", "line"});
  CHECK(bulk.err.empty());
  CHECK(bulk.out == "line:1\nline:4\nline:5\n");
  CHECK(w.get("line:1").args == R"({"n":1})");
  CHECK(w.get("line:4").args == R"({"n":2})");
  write_file(file, "\xEF\xBB\xBF{\"type\":\"noop\",\"id\":\"a\"}\r\n\r\n{\"type\":\"noop\",\"id\":\"b\"}\r\n");
  const auto all = w.sluice({"enqueue-all", file});
  CHECK(all.err.empty());
  CHECK(all.out == "a\nb\n");
  write_file(file, "{\"n\":\r\n4}\r\n");
  REQUIRE(w.sluice({"enqueue", "default", "noop", "@" + file, "--id", "whole"}).exit_code == 0);
  CHECK(w.get("whole").args == "{\"n\":\r\n4}");
}

TEST_CASE("a line of blanks is no job") {
  work_world w;
  const auto file = w.folder.file("lines");
  write_file(file, "{}\n \t \n{}\n  \r\n\t");
  const auto bulk = w.sluice({"enqueue", "default", "noop", "@" + file, "--bulk", "--id", "line"});
  CHECK(bulk.err.empty());
  CHECK(bulk.out == "line:1\nline:3\n");
  write_file(file, " \t\n{\"type\":\"noop\",\"id\":\"a\"}\n   \n");
  const auto all = w.sluice({"enqueue-all", file});
  CHECK(all.err.empty());
  CHECK(all.out == "a\n");
}

TEST_CASE("a graph of jobs is stored from a file or from standard input, all or none") {
  work_world w;
  const auto file = w.folder.file("graph");
  const auto store = [&](const std::string& lines, names words = {}) {
    write_file(file, lines);
    words.insert(words.begin(), {"enqueue-all", file});
    return w.sluice(std::move(words));
  };
  const std::string fetch = R"({"type": "noop", "id": "fetch", "args": {"n": 1}})";
  const auto graph = fetch + "\n\n" + R"({"type": "noop", "id": "parse", "after": ["fetch"]})";
  CHECK(store(graph).out == "fetch\nparse\n");
  CHECK(store(graph, {"--json"}).out == "{\"id\":\"fetch\"}\n{\"id\":\"parse\"}\n");
  CHECK(w.get("fetch").args == R"({"n": 1})");
  CHECK(w.get("parse").state == job_state::awaiting);
  const auto piped =
      run({"sh", "-c", "echo '{\"type\": \"noop\", \"id\": \"piped\"}' | \"$0\" enqueue-all - --store \"$1\"",
           program_path("sluice"), w.url},
          w.folder.path().string());
  CHECK(piped.out == "piped\n");

  const std::string fine = R"({"type": "noop", "id": "fine"})";
  const auto refused = store(fine + "\n" + R"({"type": "noop", "id": "lost", "after": ["nobody"]})");
  CHECK(refused.exit_code == 1);
  CHECK(refused.out.empty());
  CHECK(refused.err.find("job lost was not stored: its parent nobody is not in the store; none of these was stored") !=
        std::string::npos);
  const auto unreadable = store(fine + "\n\n" + R"({"type": "noop", "aftr": ["fine"]})" + "\n7\n");
  CHECK(unreadable.exit_code == 1);
  for (const auto* fault : {"line 3: /aftr: is not known; did you mean 'after'?", "line 4: must be a JSON object",
                            "none of these was stored"})
    CHECK(unreadable.err.find(fault) != std::string::npos);
  CHECK(w.client->get(job_id("fine")).error().code == errc::not_found);
}

TEST_CASE("a list of jobs shows how their arguments begin when it is asked to") {
  work_world w;
  const std::string long_text(100, 'x');
  REQUIRE(w.sluice({"enqueue", "default", "noop", "{\"to\": \"ada\"}", "--id", "short"}).exit_code == 0);
  REQUIRE(w.sluice({"enqueue", "default", "noop", "{\"to\": \"" + long_text + "\"}", "--id", "long"}).exit_code == 0);
  const auto without = w.sluice({"jobs"}).out, with = w.sluice({"jobs", "--args"}).out;
  CHECK(without.find("ada") == std::string::npos);
  CHECK(with.find("{\"to\": \"ada\"}") != std::string::npos);
  CHECK(with.find("{\"to\": \"" + long_text.substr(0, 52) + "... (truncated)") != std::string::npos);
}

TEST_CASE("a list that fails on its way tells what it found and where to go on") {
  work_world w;
  for (int i = 0; i < 250; ++i)
    w.enqueue({work_world::exec("exit 0", std::to_string(i))});
  w.run_sql("INSERT INTO keys(name, kind, size) VALUES(CAST('{sluice}:scheduled:default' AS BLOB), 3, 1)");
  const auto said = w.sluice({"jobs", "--limit", "300", "--json"});
  CHECK(said.exit_code == 1);
  CHECK(ids_in(said.out).size() == 200);
  const std::string after = next_in(said.out).at("next");
  CHECK(ids_in(w.sluice({"jobs", "--state", "enqueued", "--after", after, "--json"}).out).size() == 50);
  const auto table = w.sluice({"jobs", "--limit", "300"});
  CHECK(table.exit_code == 1);
  CHECK(std::count(table.out.begin(), table.out.end(), '\n') == 201);
  CHECK(table.err.find(" --after " + after + "\nsluice: ") != std::string::npos);
  CHECK(w.sluice({"jobs", "--limit", "300", "--after", after}).out.empty());
}

TEST_CASE("what was put aside is listed, shown with its bytes, enqueued again or dropped") {
  work_world w;
  for (const auto* id : {"mended", "lost", "other"})
    REQUIRE(w.sluice({"enqueue", "default", "noop", "{}", "--id", id}).exit_code == 0);
  w.run_sql("UPDATE members SET field2=CAST('bad\nhistory' AS BLOB) WHERE name=CAST('mended' AS BLOB)");
  w.run_sql(
      "UPDATE members SET field1=CAST('\x01nonsense' AS BLOB) WHERE name IN (CAST('lost' AS BLOB), "
      "CAST('other' AS BLOB))");
  for (const auto* id : {"mended", "lost", "other"})
    CHECK(w.client->get(job_id(id)).error().code == errc::damaged_record);

  for (const auto& words : {names{"quarantine", "--json"}, names{"quarantine", "list", "--queue", "default", "--json"}})
    CHECK(ids_in(w.sluice(words).out).size() == 3);
  CHECK(w.sluice({"quarantine", "list"}).out.find("lost    default  ") != std::string::npos);
  const auto shown = w.sluice({"quarantine", "show", "mended"}).out;
  CHECK(shown.find("wrong       its history has lost its form\ncan requeue yes\n") != std::string::npos);
  CHECK(shown.find("history     11 bytes\n  bad\\x0ahistory\nrun         none\n") != std::string::npos);
  const auto json = nlohmann::json::parse(w.sluice({"quarantine", "show", "lost", "--json"}).out);
  CHECK(json.at("record") == "AW5vbnNlbnNl");
  CHECK(json.at("history") == "");
  CHECK(json.at("readable") == false);

  const auto requeued = w.sluice({"quarantine", "requeue", "mended", "lost"});
  CHECK(requeued.exit_code == 1);
  CHECK(requeued.out == "mended enqueued\n");
  CHECK(requeued.err.find("job lost still cannot be read: its record has another form") != std::string::npos);
  CHECK(requeued.err.find("`sluice quarantine drop` removes it for good") != std::string::npos);
  CHECK(w.get("mended").state == job_state::enqueued);

  CHECK(w.sluice({"quarantine", "drop"}).exit_code == 2);
  const auto asked = w.sluice({"quarantine", "drop", "--all"});
  CHECK(asked.exit_code == 2);
  CHECK(asked.err.find("nobody is there to answer: add --yes") != std::string::npos);
  CHECK(w.sluice({"quarantine", "drop", "lost", "--json"}).out == "{\"id\":\"lost\",\"done\":\"dropped\"}\n");
  CHECK(w.sluice({"quarantine", "drop", "--all", "--queue", "nobody", "--yes"})
            .err.starts_with("sluice: there is no queue nobody; there is default;"));
  CHECK(w.sluice({"quarantine", "drop", "--all", "--yes"}).out == "1 dropped\n");
  CHECK(w.sluice({"quarantine", "show", "other"}).err.find("there is no job other in quarantine") != std::string::npos);
  const auto log = w.sluice({"log"}).out;
  CHECK(log.find("quarantine requeue") != std::string::npos);
  CHECK(log.find("quarantine drop") != std::string::npos);
}

TEST_CASE("a search inside of jobs leaves four fifths of the time to servers") {
  work_world w;
  std::string lines;
  for (int i = 0; i < 20'000; ++i)
    lines += "{\"n\":1}\n";
  write_file(w.folder.file("lines"), lines);
  REQUIRE(w.sluice({"enqueue", "default", "noop", "@" + w.folder.file("lines"), "--bulk"}).exit_code == 0);
  // Its share of the time that passes, which a machine that is busy with others makes smaller.
  const auto used = [] {
    rusage of_children{};
    ::getrusage(RUSAGE_CHILDREN, &of_children);
    const auto seconds = [](const timeval& t) {
      return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
    };
    return seconds(of_children.ru_utime) + seconds(of_children.ru_stime);
  };
  const auto used_before = used();
  const auto began = std::chrono::steady_clock::now();
  CHECK(w.sluice({"jobs", "--match", "n=2"}).exit_code == 0);
  const auto took = std::chrono::steady_clock::now() - began;
  CHECK(took > 3 * (used() - used_before));
}

TEST_CASE("why jobs failed is counted by type and error, the most frequent first") {
  work_world w;
  auto server = w.work();
  const auto fail = [&](const std::string& id, const std::string& what) {
    auto made = work_world::exec("echo '" + what + "' >&2; exit 3", id);
    made.retry.attempts = 0;
    w.enqueue({made});
    REQUIRE(w.client->wait(job_id(id), 20s)->state == job_state::failed);
  };
  CHECK(w.sluice({"errors", "--json"}).out.empty());
  fail("a", "disk is full");
  fail("b", "timeout after 17 ms");
  fail("c", "timeout after 5012 ms");
  const auto said = w.sluice({"errors", "--queue", "default", "--type", "exec", "--since", "1h", "--json"});
  CHECK(said.exit_code == 0);
  std::istringstream lines(said.out);
  std::vector<nlohmann::json> errors;
  for (std::string line; std::getline(lines, line);)
    errors.push_back(nlohmann::json::parse(line));
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].at("count") == 2);
  CHECK(errors[0].at("error").get<std::string>().find("timeout after # ms") != std::string::npos);
  CHECK(errors[0].at("last_id") == "c");
  CHECK(errors[1].at("count") == 1);
  const auto table = w.sluice({"errors"}).out;
  CHECK(table.starts_with("COUNT"));
  CHECK(table.find("timeout after # ms") < table.find("disk is full"));
  CHECK(w.sluice({"errors", "--until", "1h", "--json"}).out.empty());
  CHECK(w.sluice({"errors", "--since", "soon"}).exit_code == 2);
}

TEST_CASE("words that ask for nothing sensible are told with what they take") {
  work_world w;
  REQUIRE(w.sluice({"enqueue", "default", "noop", "{}", "--id", "a"}).exit_code == 0);
  struct wrong {
    std::vector<std::string> words;
    std::string said;
    int exit_code = 2;
  };
  for (const auto& [words, said, exit_code] : std::vector<wrong>{
           {{"jobs", "--since", "soon"}, "--since must be a time, as 2h, or an instant, as 2026-03-08T07:00Z"},
           {{"jobs", "--header", "tenant"}, "--header must be NAME=VALUE"},
           {{"jobs", "--header", "a=1", "--header", "a=2"}, "--header must be given once for each name"},
           {{"jobs", "--match", "=1"}, "--match must be PATH=VALUE"},
           {{"jobs", "--match", "a..b=1"}, "'a..b' is no path into arguments", 1},
           {{"jobs", "--after", "yesterday"}, "'yesterday' is not where a page of this list ended", 1},
           {{"enqueue", "default", "noop", "{}", "--at", "noon"}, "--at must be an instant"},
           {{"enqueue", "default", "noop", "{}", "--bulk"}, "give - or @FILE"},
           {{"enqueue", "default", "noop", "@nowhere"}, "cannot read nowhere", 1},
           {{"requeue"}, "requeue needs ids of jobs, or --all"},
           {{"requeue", "a", "--all"}, "requeue needs ids of jobs, or --all"},
           {{"delete", "a", "--state", "failed"}, "--state finds jobs where no ids are given"},
           {{"cancel", "a", "b", "--header", "tenant=x"}, "--header finds jobs where no ids are given"},
           {{"delete", "--all"}, "--all needs a --state"},
           {{"delete", "--all", "--state", "enqueued"}, "add --yes"}}) {
    const auto got = w.sluice(words);
    CHECK(got.exit_code == exit_code);
    CHECK(got.err.find(said) != std::string::npos);
  }
  CHECK(w.counts().enqueued == 1);
}

TEST_CASE("all jobs for which something holds are deleted and requeued in slices and counted") {
  work_world w;
  std::string lines;
  for (int i = 0; i < 450; ++i)
    lines += "{\"part\":" + std::to_string(i % 3) + "}\n";
  write_file(w.folder.file("lines"), lines);
  REQUIRE(w.sluice({"enqueue", "default", "noop", "@" + w.folder.file("lines"), "--bulk"}).exit_code == 0);
  CHECK(w.sluice({"delete", "--all", "--state", "enqueued", "--yes"}).out == "450 deleted\n");
  CHECK(w.counts().deleted == 450);
  const auto some = w.sluice({"requeue", "--all", "--state", "deleted", "--match", "part=1", "--yes", "--json"});
  CHECK(some.exit_code == 0);
  CHECK(some.out == "{\"done\":150,\"unchanged\":0,\"refused\":0,\"failed\":[],\"records_read\":450,\"next\":\"\"}\n");
  CHECK(w.counts().enqueued == 150);
  CHECK(w.sluice({"requeue", "--all", "--state", "deleted", "--yes"}).out == "300 enqueued\n");
  auto p = w.work();
  CHECK(eventually([&] { return w.counts().succeeded == 450; }));
  // What runs again meanwhile and ends anew is not met a second time.
  CHECK(w.sluice({"requeue", "--all", "--state", "succeeded", "--yes"}).out == "450 enqueued\n");
  CHECK(eventually([&] { return w.counts().succeeded == 450; }));
  for (const auto& one : ids_in(w.sluice({"jobs", "--limit", "450", "--json"}).out))
    CHECK(w.get(one).history.size() == 5);  // two runs, and what was done to it three times
}

TEST_CASE("several jobs are changed by one command and each that is refused is told") {
  work_world w;
  w.enqueue({work_world::exec("exit 0", "a"), work_world::exec("exit 0", "b")});
  const auto said = w.sluice({"delete", "a", "nobody", "b"});
  CHECK(said.exit_code == 1);
  CHECK(said.out == "a deleted\nb deleted\n");
  CHECK(said.err.find("there is no job nobody") != std::string::npos);
  CHECK(w.counts().deleted == 2);
  const auto as_json = w.sluice({"requeue", "a", "nobody", "b", "--json"});
  CHECK(as_json.exit_code == 1);
  CHECK(as_json.err.find("there is no job nobody") != std::string::npos);
  const auto told = nlohmann::json::parse(as_json.out);
  CHECK(told.at("done") == 2);
  CHECK(told.at("refused") == 1);
  CHECK(told.at("failed")[0].at("id") == "nobody");
  CHECK(told.at("failed")[0].at("code") == "not_found");
  CHECK(w.sluice({"delete", "a", "--json"}).out == "{\"id\":\"a\",\"done\":\"deleted\"}\n");
}

TEST_CASE("totals tell what came and how it ended") {
  work_world w;
  for (const auto* queue : {"default", "other"})
    REQUIRE(w.sluice({"enqueue", queue, "noop", "{}", "--id", queue}).exit_code == 0);
  REQUIRE(w.sluice({"delete", "other"}).exit_code == 0);
  const auto asked = [&](names words) {
    words.insert(words.begin(), {"totals", "--json"});
    std::istringstream in(w.sluice(std::move(words)).out);
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(in, line);)
      lines.push_back(nlohmann::json::parse(line));
    return lines;
  };
  const auto all = asked({});
  REQUIRE(all.size() >= 2);  // since ever, and by hour, which may be a new one meanwhile
  CHECK(all[0].at("begins_at").is_null());
  CHECK(all[0].at("queue").is_null());
  CHECK(all[0].at("enqueued") == 2);
  CHECK(all[0].at("deleted") == 1);
  const auto minutes = asked({"default", "--by", "minute", "--since", "10m"});
  REQUIRE(minutes.size() == 2);
  CHECK(minutes[1].at("queue") == "default");
  CHECK(minutes[1].at("begins_at").is_string());
  CHECK(minutes[1].at("enqueued") == 1);
  CHECK(w.sluice({"totals"}).out.find("ever") != std::string::npos);
  CHECK(w.sluice({"totals", "--by", "week"}).exit_code == 2);
}

TEST_CASE("who requeued a job is in the log and in the job's reason") {
  work_world w;
  w.enqueue({work_world::exec("exit 0", "a"), work_world::exec("exit 0", "b")});
  REQUIRE(w.sluice({"delete", "a", "b", "nobody"}).exit_code == 1);
  REQUIRE(w.sluice({"requeue", "a"}).exit_code == 0);
  REQUIRE(w.sluice({"pause", "default"}).exit_code == 0);
  REQUIRE(w.sluice({"throttler", "set", "semaphore:s", "limit=2"}).exit_code == 0);
  REQUIRE(w.sluice({"recurring", "set", "pulse", "job=noop", "every=1h"}).exit_code == 0);

  const auto said = w.sluice({"log", "--json", "--limit", "4"});
  std::vector<nlohmann::json> lines;
  std::istringstream in(said.out);
  for (std::string line; std::getline(in, line);)
    lines.push_back(nlohmann::json::parse(line));
  REQUIRE(lines.size() == 5);
  CHECK(lines[0].at("what") == "set schedule");
  CHECK(lines[1].at("about") == nlohmann::json{"semaphore:s: limit 2"});
  CHECK(lines[2].at("what") == "pause");
  CHECK(lines[3].at("what") == "requeue");
  CHECK(lines[3].at("through") == "sluice");
  CHECK(lines[3].at("count") == 1);
  CHECK(lines[3].at("about") == nlohmann::json{"a"});
  CHECK(lines[3].at("at") == lines[3].at("until"));
  const std::string who = lines[3].at("by");
  CHECK(who.find('@') != std::string::npos);
  CHECK(w.get("a").reason == "requeued by " + who + " through sluice");

  CHECK(lines[4].size() == 1);
  const auto rest = w.sluice({"log", "--after", lines[4].at("next").get<std::string>()});
  CHECK(rest.err.empty());
  CHECK(rest.out.starts_with("WHEN "));
  CHECK(rest.out.find("delete      2  a, b\n") != std::string::npos);
  CHECK(rest.out.find("requeue") == std::string::npos);
  CHECK(w.sluice({"log", "--after", "yesterday"}).exit_code == 1);
}

TEST_CASE("only root can have come by sudo") {
  work_world w;
  const auto who_says = [&](names before, const std::string& program, const std::string& queue) {
    before.insert(before.end(), {"env", "SUDO_USER=ada", program, "pause", queue, "--store", w.url});
    REQUIRE(run(before, w.folder.path().string()).exit_code == 0);
    const auto log = w.sluice({"log", "--limit", "1", "--json"});
    return nlohmann::json::parse(log.out.substr(0, log.out.find('\n'))).at("by").get<std::string>();
  };
  const bool is_root = ::getuid() == 0;
  CHECK(who_says({}, program_path("sluice"), "default").starts_with("ada@") == is_root);
  if (!is_root || !is_here("setpriv")) return;
  // Somebody else, who may reach the program and the store.
  const auto program = w.folder.file("sluice");
  std::filesystem::copy_file(program_path("sluice"), program);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(w.folder.path()))
    REQUIRE(::chown(entry.path().c_str(), 65534, 65534) == 0);
  REQUIRE(::chown(w.folder.path().c_str(), 65534, 65534) == 0);
  CHECK_FALSE(
      who_says({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}, program, "other").starts_with("ada@"));
}

}  // namespace sluice::test
