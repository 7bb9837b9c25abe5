// What `sluice` says to who typed something wrong: what is wrong, why, and what to type next.
#include <algorithm>
#include <filesystem>

#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/redis_server.hpp"
#include "support/sockets.hpp"
#include "system/work_world.hpp"
#include "system/worker_world.hpp"

namespace sluice::test {
namespace {

using names = std::vector<std::string>;

struct wrong {
  names words;
  names said;  // each of it, on standard error
  int exit_code = 1;
};

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A mistake is told to people, in few lines, and without the codes of the libraries beneath.
void check_told(const ran& got, const wrong& one) {
  CAPTURE(one.words, got.out, got.err);
  CHECK(got.exit_code == one.exit_code);
  CHECK_FALSE(says(got.err, "exception"));
  CHECK(std::count(got.err.begin(), got.err.end(), '\n') <= 3);
  if (one.exit_code == 0 && one.said.empty()) CHECK(got.err.empty());
  for (const auto& part : one.said) {
    CAPTURE(part);
    CHECK(says(got.err, part));
  }
}

// A folder with a store, jobs.db, of one job `one` in its queue `default`, and a limit and a schedule.
struct wrong_words {
  work_world w;

  wrong_words() {
    w.enqueue({work_world::exec("exit 0", "one")});
    REQUIRE(w.sluice({"throttler", "set", "semaphore:api", "limit=2"}).exit_code == 0);
    REQUIRE(w.sluice({"recurring", "set", "pulse", "job=noop", "every=1h"}).exit_code == 0);
    REQUIRE(w.sluice({"group", "create", "pages"}).exit_code == 0);
  }

  std::string file(const std::string& name, const std::string& text) const {
    write_file(w.folder.file(name), text);
    return w.folder.file(name);
  }
  // Without a store, in the folder.
  ran sluice(names words, const std::string& variable = "NONE=") const {
    const auto folder = w.folder.path().string();
    words.insert(words.begin(), {"env", "--chdir=" + folder, variable, program_path("sluice")});
    return run(words, folder);
  }
};

}  // namespace

TEST_CASE_METHOD(wrong_words, "a configuration that cannot be used is told with what to write") {
  const auto fine = file("fine.json", R"({"storage": "sqlite:jobs.db", "queues": {"default": {}}})");
  std::filesystem::create_directory(w.folder.file("folder"));
  for (const auto& one : std::vector<wrong>{
           {{"work", "nofile.json"}, {"cannot read nofile.json: No such file"}},
           {{"work", "jobs.db"},
            {"sluice: jobs.db is a store and no configuration: write "
             R"({"storage": "sqlite:jobs.db", "queues": {"default": {}}} to a file and name that)"}},
           {{"check", "jobs.db"}, {"jobs.db is a store and no configuration"}},
           {{"work", "sqlite:jobs.db"},
            {"sqlite:jobs.db is a store and no configuration", R"({"storage": "sqlite:jobs.db", "queues")"}},
           {{"check", "redis+unix:///run/redis.sock"}, {R"(write {"storage": "redis+unix:///run/redis.sock", )"}},
           {{"check", "rediss://there/0"}, {"rediss://there/0 is a store and no configuration"}},
           {{"check", "redis"}, {"cannot read redis: No such file"}},
           {{"check", "folder"}, {"cannot read folder: it is a folder; name a file"}},
           {{"check", file("empty.json", "")}, {"is empty; the least that it may say is {}"}},
           {{"check", file("list.json", "[]")}, {"must be one JSON object"}},
           {{"check", file("unit.json", "{\n\"lease\": 5s}\n")}, {"is not JSON at byte", "(line 2, column"}},
           {{"check", file("bare.json", R"({"lease": 5})")}, {R"(/lease: needs a unit, as "5s" or "5m")"}},
           {{"check", file("key.json", R"({"leese": "5s"})")}, {"/leese: is not known; did you mean 'lease'?"}},
           {{"check", fine, "--store", "sqlite:jobs.db"},
            {"sluice check: its --store takes no URL, and asks the store that the configuration names; to ask another, "
             "add "
             "--set /storage=URL\n"},
            2},
           {{"check", "--store", "sqlite:jobs.db", fine}, {"its --store takes no URL"}, 2},
           {{"check", fine, "--store=sqlite:jobs.db"}, {"its --store takes no URL"}, 2},
           {{"check", fine, "--store"}, {}, 0},
           {{"check", fine, "--set", "queues=3"}, {"--set queues=3 must look like /queues/default/workers=2"}},
           {{"check", fine, "--set", "/queues/defualt/workers=2"},
            {"--set /queues/defualt/workers adds the queue 'defualt', which the file does not have; did you mean "
             "'default'?"},
            0},
           {{"check", file("none.json", R"({"storage": "sqlite:jobs.db"})"), "--set", "/queues/defualt/workers=2"},
            {"adds the queue 'defualt'", "did you mean 'default'?"},
            0},
           {{"check", fine, "--set", "/queues/default/workers=2", "--set", "/queues/elsewhere/workers=2"}, {}, 0}})
    check_told(sluice(one.words), one);
  for (const auto& one : std::vector<wrong>{
           {{"SLUICE_HOME=/x"}, {"warning: the environment variable SLUICE_HOME names no setting and is left out"}, 0},
           {{"SLUICE_LEESE=3s"}, {"did you mean 'lease'?", "set by the environment variable SLUICE_LEESE"}},
           {{"SLUICE_QUEUS__X__WORKERS=2"},
            {"did you mean 'queues'?", "set by the environment variable SLUICE_QUEUS__X__WORKERS"}},
           {{"SLUICE_QUEUES__DEFUALT__WORKERS=3"}, {"DEFUALT__WORKERS adds the queue 'defualt'", "'default'?"}, 0},
           {{"SLUICE_STORAGE=sqlite:other.db"},
            {"SLUICE_STORAGE of the environment is stronger than the file: it works on sqlite:other.db, not on"},
            0}})
    check_told(sluice({"check", fine}, one.words.front()), one);
}

TEST_CASE_METHOD(wrong_words, "check says which types are of a host alone, and finds no fault in that") {
  const auto of = [&](const char* jobs) {
    return sluice({"check", file("jobs.json", cat(R"({"storage": "sqlite:jobs.db", "jobs": {)", jobs, "}}"))});
  };
  const auto host = of(R"("mail": {"queue": "default"}, "noop": {}, "report": {})");
  CAPTURE(host.out, host.err);
  CHECK(host.exit_code == 0);
  CHECK(host.err.empty());
  CHECK(says(of(R"("exec": {})").err, "warning: jobs.exec is of a type that this server has no handler of"));
  CHECK(says(host.out, "\n  types that need a server of your own: mail, report; `sluice work` runs only noop"));
  CHECK_FALSE(says(of(R"("noop": {})").out, "types that need"));
}

TEST_CASE_METHOD(wrong_words, "a store that is not there or none is told with what to write") {
  std::string text = "this is a text and no database; ";
  for (int i = 0; i < 8; ++i)
    text += text;
  file("short.txt", text.substr(0, 70));
  file("long.txt", text);
  {
    sqlite3* theirs = nullptr;
    REQUIRE(sqlite3_open(w.folder.file("theirs.db").c_str(), &theirs) == SQLITE_OK);
    CHECK(sqlite3_exec(theirs, "CREATE TABLE t(x)", nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(theirs);
  }
  const temp_dir nothing;
  for (const auto& [store, said] : std::vector<std::pair<std::string, names>>{
           {"sqlite:jbos.db", {"there is no store at ", "jbos.db; did you mean jobs.db?"}},
           {nothing.url(), {"there is no store at ", "; the first `sluice enqueue` or `sluice work` on it makes it"}},
           {"sqlite:nowhere/jobs.db", {"cannot look at the folder of", "make it first"}},
           {"sqlite:" + nothing.path().string(), {"is no file; name one, as in sqlite:jobs.db"}},
           {"jobs.db", {"'jobs.db' names no known store", "; did you mean sqlite:jobs.db?"}},
           {"mysql://there", {"names no known store; use sqlite:FILE, sqlite::memory: or redis://host:port/db (inv"}},
           {"sqlite:///there/jobs.db", {"names no file", "; did you mean sqlite:/there/jobs.db?"}},
           {"sqlite:short.txt",
            {"short.txt is no store of Sluice: it has 70 bytes, fewer than any store. It was left as it is; name "
             "another "
             "file (storage_damaged)\n"}},
           {"sqlite:long.txt",
            {"long.txt is no store of Sluice: it is no SQLite database. It was left as it is; name another file, or, "
             "if "
             "it was a store, see \"A damaged file\""}},
           {"sqlite:theirs.db",
            {"theirs.db is no store of Sluice: it is another program's database. It was left as it is; name another"}},
           {"redis://127.0.0.1:1", {"Redis at 127.0.0.1:1: Connection refused"}}}) {
    const wrong one{{"jobs", "--store", store}, said};
    check_told(sluice(one.words), one);
    check_told(sluice({"show", "one", "--store", store}), one);
  }
  CHECK(std::filesystem::is_empty(nothing.path()));
  CHECK_FALSE(std::filesystem::exists(w.folder.file("long.txt.lock")));
  const wrong no_store{{"jobs"}, {"--store URL is missing, e.g. --store sqlite:jobs.db"}, 2};
  check_told(sluice(no_store.words), no_store);
}

TEST_CASE("a Redis that refuses is told with what its URL has to say") {
  redis_server server({.password = "right4711"});
  const temp_dir folder;
  const auto at = unix_at(server.socket());
  for (const auto& [store, said] : std::vector<std::pair<std::string, std::string>>{
           {redis_url(at), "NOAUTH Authentication required.; the URL has to log in, by USER:PASSWORD@"},
           {redis_url(at, 0, "wrong0815"), "it refuses the user or password (WRONGPASS)"},
           {server.url(99), "DB index is out of range; the database is the number at the end of the URL"}}) {
    const auto got = run({program_path("sluice"), "jobs", "--store", store}, folder.path().string());
    CAPTURE(store, got.err);
    CHECK(got.exit_code == 1);
    CHECK(says(got.err, said));
    CHECK_FALSE(says(got.err, "0815"));
  }
}

TEST_CASE_METHOD(wrong_words, "a mistyped command is told with the one that was meant, and help is one") {
  for (const auto& [typed, meant] : std::vector<std::pair<std::string, std::string>>{
           {"enque", "enqueue"}, {"list", "jobs"}, {"stats", "totals"}, {"retry", "requeue"}, {"worker", "work"}}) {
    const wrong one{{typed}, {cat("there is no command '", typed, "'; did you mean '", meant, "'?")}, 2};
    check_told(sluice(one.words), one);
  }
  const auto help = sluice({"help"});
  CHECK(help.exit_code == 0);
  CHECK(help.out == sluice({"--help"}).out);
  CHECK(sluice({"help", "jobs"}).out == sluice({"jobs", "--help"}).out);
  CHECK(sluice({"help", "recurring", "set"}).out == sluice({"recurring", "set", "--help"}).out);
}

TEST_CASE_METHOD(wrong_words, "the help of all commands is a line for each, and that of each says more") {
  const auto help = sluice({"--help"}).out;
  const auto begin = help.find("Subcommands:");
  REQUIRE(begin != std::string::npos);
  const auto list = help.substr(begin);
  CHECK(says(list, "\n  enqueue                     Stores one job and prints its id\n"));
  CHECK(says(list, "`sluice COMMAND --help` says more of each."));
  CHECK(says(sluice({"enqueue", "--help"}).out, "TYPE is what a server has a handler for"));
  CHECK_FALSE(says(sluice({"enqueue", "--help"}).out, "says more of each"));
}

TEST_CASE_METHOD(wrong_words, "what is not there is told with where one finds what there is") {
  for (const auto* command : {"show", "explain", "requeue", "delete", "cancel"}) {
    const wrong one{{command, "nope"},
                    {"sluice: there is no job nope; `sluice jobs` lists those there are", " (not_found)\n"}};
    check_told(w.sluice(one.words), one);
  }
  const std::string no_queue = "there is no queue nope; there is default; `sluice queues` lists all";
  for (const auto& [words, meant] :
       std::vector<std::pair<names, std::string>>{{{"requeue", "failed"}, "requeue --all --state failed"},
                                                  {{"delete", "enqueued"}, "delete --all --state enqueued"},
                                                  {{"cancel", "processing"}, "cancel --all --state processing"},
                                                  {{"cancel", "succeeded"}, "delete --all --state succeeded"}}) {
    const wrong one{words, {cat("no job ", words[1], "; did you mean `sluice ", meant, "`? `sluice jobs` lists")}};
    check_told(w.sluice(one.words), one);
  }
  for (const auto& one : std::vector<wrong>{
           {{"jobs", "--queue", "nope"}, {no_queue}},
           {{"jobs", "--queue", "nope", "--json"}, {no_queue}},
           {{"jobs", "--queue", "defualt"}, {"there is no queue defualt; did you mean 'default'?"}},
           {{"errors", "--queue", "nope"}, {no_queue}},
           {{"totals", "nope"}, {no_queue}},
           {{"queues", "nope"}, {no_queue}},
           {{"resume", "nope"}, {no_queue}},
           {{"jobs", "--type", "exce", "--queue", "nope"}, {no_queue}},
           {{"requeue", "--all", "--yes", "--state", "failed", "--queue", "nope"}, {no_queue}, 0},
           {{"jobs", "--queue", "default", "--state", "failed"}, {}, 0},
           {{"pause", "defualt"},
            {"will be paused when its first job comes: there is no queue defualt; did you mean 'default'?"},
            0},
           {{"explain", "pulse"}, {"there is no job pulse; a schedule is called so: `sluice recurring show pulse`"}},
           {{"show", "pulse", "--json"}, {"a schedule is called so"}},
           {{"recurring", "show", "pulze"}, {"there is no schedule pulze; did you mean 'pulse'?"}},
           {{"recurring", "show", "nightly-report"}, {"there is no schedule nightly-report; there is pulse"}},
           {{"recurring", "pause", "pulze"},
            {"sluice: there is no schedule pulze; did you mean 'pulse'? `sluice recurring list` lists all "
             "(not_found)\n"}},
           {{"recurring", "resume", "nightly-report"}, {"there is no schedule nightly-report; there is pulse;"}},
           {{"recurring", "trigger", "pulze"},
            {"there is no schedule pulze; did you mean 'pulse'? `sluice recurring list` lists all"}},
           {{"recurring", "remove", "pulze"}, {"there is no schedule pulze; did you mean 'pulse'?"}, 0},
           {{"quarantine", "remove", "nope"}, {"did you mean 'quarantine drop'?"}, 2},
           {{"quarantine", "show", "nope"},
            {"there is no job nope in quarantine; `sluice quarantine list` lists those there are (not_found)\n"}},
           {{"jobs", "--type", "exce"}, {"there is no job of type exce; did you mean 'exec'?"}, 0},
           {{"jobs", "--type", "exce", "--queue", "default", "--json"},
            {"there is no job of type exce in queue default; did you mean 'exec'?"},
            0},
           {{"jobs", "--type", "report"}, {"there is no job of type report"}, 0},
           {{"jobs", "--type", "exec", "--state", "failed"}, {}, 0},
           {{"throttler", "show", "semaphore:x"}, {"no throttler semaphore:x; `sluice throttlers` lists all"}},
           {{"throttler", "remove", "semaphore:x"}, {"no throttler semaphore:x; `sluice throttlers` lists all"}, 0},
           {{"group", "show", "nope"}, {"there is no group nope; `sluice groups` lists all"}},
           {{"enqueue", "default", "noop", "{}", "--after", "nope"}, {"its parent nope is not in the store"}},
           {{"jobs", "--after", "nope"}, {"'nope' is not where a page of this list ended; say what that page gave"}},
           {{"jobs", "--state", "sucedeed"}, {"must be one of enqueued", "did you mean 'succeeded'?"}, 2}})
    check_told(w.sluice(one.words), one);
}

TEST_CASE_METHOD(wrong_words, "a definition that lacks something is told with what it lacks") {
  const std::string examples = "--help` has examples";
  for (const auto& one : std::vector<wrong>{
           {{"throttler", "set", "semaphore:x"}, {"limit must be given: a number of 1 to 1000000000", examples}, 2},
           {{"throttler", "set", "fixed_window:x", "limit=1"},
            {"interval must be given: a time of 1s to", examples},
            2},
           {{"throttler", "set", "sliding_window:x", "limit=1", "interval=1h"}, {"buckets must be given: a number"}, 2},
           {{"throttler", "set", "fixed_window:x", "limit=1", "interval=5"}, {R"(needs a unit, as "5s" or "5m")"}, 2},
           {{"throttler", "set", "semaphore:x", "limt=1"}, {"/limt: is not known; did you mean 'limit'?"}, 2},
           {{"throttler", "set", "semafore:x", "limit=1"}, {"KIND:NAME", "did you mean 'semaphore'?"}, 2},
           {{"recurring", "set", "x"}, {"/job: must be given", examples}, 2},
           {{"recurring", "set", "x", "job=noop"}, {"cron or every must be given", examples}, 2},
           {{"recurring", "set", "x", "job=noop", "every=5"}, {R"(needs a unit, as "5s" or "5m")"}, 2},
           {{"recurring", "set", "x", "job=noop", "cron=@every 5m"}, {"leave cron out and write every=5m"}, 2},
           {{"recurring", "set", "x", "job=noop", "cron=0", "3", "*", "*", "*", "zone=UTC"},
            {"sluice: a cron expression needs quotes: 'cron=0 3 * * *'\n"},
            2},
           {{"recurring", "set", "x", "cron=5", "4", "a.json", "b.json", "job=noop"},
            {"sluice: a cron expression needs quotes: 'cron=0 3 * * *'\n"},
            2},
           {{"recurring", "set", "x", "job=noop", "cron=5 4 * * *", "job"},
            {"'job' must look like cron=", examples},
            2},
           {{"recurring", "set", "x", "job=noop", "cron=* * * *"}, {"it has 4 fields; 5 are needed"}, 2}})
    check_told(w.sluice(one.words), one);
}

TEST_CASE_METHOD(wrong_words, "a job that cannot be stored is told with what to write") {
  const auto enqueue = [](names more) {
    more.insert(more.begin(), {"enqueue", "default", "noop", "{}"});
    return more;
  };
  const std::string units = "needs a unit: 5s, 5m, 5h or 5d";
  for (const auto& one : std::vector<wrong>{
           {{"enqueue", "default", "noop", "{bad}"},
            {"args: is not JSON at byte 2",
             R"(a shell keeps the double quotes of JSON between single ones: '{"name")"}},
           {{"enqueue", "my queue", "noop", "{}"}, {"queue 'my queue' must be 1 to 200 characters of A-Z a-z"}},
           {{"enqueue", "default", "noop", "@nofile"}, {"cannot read nofile: No such file"}},
           {{"enqueue", "default", "noop", "@" + w.folder.path().string()}, {"it is a folder; name a file"}},
           {enqueue({"--in", "5"}), {"--in " + units, "0s to 3650d"}, 2},
           {enqueue({"--in", "11y"}), {"--in must be a time of 0s to 3650d, as 30s (units: us ms s m h d)"}, 2},
           {enqueue({"--in", "1h30m"}), {"--in needs one number with one unit", "write 90m for '1h30m'"}, 2},
           {enqueue({"--in", "3651d"}), {"--in must be a time of 0s to 3650d"}, 2},
           {enqueue({"--in", "-5s"}), {"--in must be a time of 0s to 3650d", "not '-5s'"}, 2},
           {enqueue({"--in", "2026-12-01T00:00Z"}), {"an instant is --at 2026-12-01T00:00Z"}, 2},
           {enqueue({"--at", "5m"}), {"--at takes an instant; a time from now is --in 5m"}, 2},
           {enqueue({"--at", "2026-12-01"}), {"midnight in UTC is 2026-12-01T00:00Z", "2026-12-01T00:00+01:00"}, 2},
           {enqueue({"--at", "2026-12-01T09:30"}), {"--at needs an offset: in UTC it is 2026-12-01T09:30Z"}, 2},
           {enqueue({"--at", "tomorrow"}), {"--at must be an instant of 1900 to 2199, as 2026-03-08T07:00Z"}, 2},
           {enqueue({"--timeout", "5"}), {"--timeout " + units, "1ms to 30d"}, 2},
           {enqueue({"--timeout", "0s"}), {"--timeout must be a time of 1ms to 30d"}, 2},
           {enqueue({"--start-within", "5"}), {"--start-within " + units}, 2},
           {enqueue({"--finish-within", "11y"}), {"--finish-within must be a time of 0s to 3650d"}, 2},
           {{"group", "create", "g", "--seal-within", "5"}, {"--seal-within " + units, "1s to 3650d"}, 2},
           {{"jobs", "--since", "5"}, {"--since " + units}, 2},
           {{"jobs", "--since", "2026-12-01"}, {"--since needs a time of day"}, 2},
           {{"totals", "--until", "soon"}, {"--until must be a time, as 2h, or an instant"}, 2}})
    check_told(w.sluice(one.words), one);
  for (const auto* at : {"2030-12-01T00:00Z", "2030-12-01t00:00:00z", "2030-12-01 01:00+01:00"}) {
    const auto stored = w.sluice(enqueue({"--at", at}));
    CAPTURE(at, stored.err);
    REQUIRE(stored.exit_code == 0);
    // Later by what the command takes from its clock to the store's.
    const auto due = format_time(*w.get(stored.out.substr(0, stored.out.size() - 1)).due_at);
    CHECK(due.substr(0, due.find('.')) == "2030-12-01T00:00:00");
  }
}

TEST_CASE_METHOD(wrong_words, "an option that nothing can come of is refused, and one without effect is told") {
  const auto key = file("exec.key", std::string(40, 'k')), two = file("two.jsonl", "{\"type\": \"noop\"}\n");
  const auto slip = file("slip.jsonl", "{\"type\": \"noop\", \"queue\": \"defaultt\"}\n");
  std::filesystem::permissions(key, std::filesystem::perms::owner_read);
  const auto enqueue = [](names more) {
    more.insert(more.begin(), {"enqueue", "default", "noop", "{}"});
    return more;
  };
  const std::string far = "2190-01-01T00:00Z", no_queue = "there is no queue defualt; did you mean 'default'?";
  const std::string signs = "--exec-key has no effect: it signs jobs of type exec alone";
  for (const auto& one : std::vector<wrong>{
           // What is looked for.
           {{"jobs", "--queue", "a b"}, {"sluice jobs: --queue: 'a b' is no name: it must be 1 to 200 characters"}, 2},
           {{"recurring", "list", "--type", "a b"}, {"--type: 'a b' is no name"}, 2},
           {{"jobs", "--queue=", "--limit", "5"}, {"sluice: --queue must not be empty\n"}, 2},
           {{"jobs", "--type", "exce", "--state", "failed"}, {"there is no job of type exce; did you mean 'exec'?"}, 0},
           {{"errors", "--type", "exce"}, {"there is no job of type exce; did you mean 'exec'?"}, 0},
           {{"errors", "--type", "exec"}, {}, 0},
           {{"delete", "--all", "--yes", "--state", "failed", "--type", "exce"}, {"did you mean 'exec'?"}, 0},
           {{"quarantine", "--queue", "defualt"}, {no_queue}, 1},
           {{"quarantine", "--queue", "default"}, {}, 0},
           {{"quarantine", "drop", "--all", "--yes", "--queue", "defualt"}, {no_queue}, 0},
           {{"quarantine", "drop", "one", "--queue", "default"}, {"--queue requires --all"}, 2},
           {{"recurring", "list", "--type", "nop"}, {"no schedule is of type nop; did you mean 'noop'?"}, 0},
           {{"recurring", "list", "--type", "noop", "--paused"}, {}, 0},
           {{"recurring", "list", "--queue", "default"}, {"no schedule names queue default"}, 0},
           // When.
           {{"jobs", "--since", far}, {}, 0},
           {{"jobs", "--state", "failed", "--since", far}, {"--since must be an instant that has passed, not 2190"}, 2},
           {{"errors", "--since", far}, {"--since must be an instant that has passed"}, 2},
           {{"totals", "--since", far}, {"--since must be an instant that has passed"}, 2},
           {{"jobs", "--since", "1h", "--until", "2h"}, {"--until is before --since, which is 2"}, 2},
           {{"totals", "--until", "1999-01-01T00:00Z"}, {"--until is before what is kept"}, 0},
           {{"totals", "--since", "1h", "--until", "2h"}, {"--until is before --since, which is 2"}, 2},
           {{"totals", "--since", "91d"}, {"--since is before what is kept: hours for 90 days; what was earlier"}, 0},
           {{"totals", "--by", "minute", "--since", "73h"}, {"minutes for 72 hours"}, 0},
           {{"totals", "--since", "80h"}, {}, 0},
           {enqueue({"--at", "2000-01-01T00:00Z"}), {"--at 2000-01-01T00:00Z has passed: the job is due at once"}, 0},
           {enqueue({"--at", "2030-12-01T00:00Z", "--id", "far"}), {}, 0},
           {enqueue({"--at", "2030-12-01T00:00Z", "--id", "far"}), {}, 0},
           {enqueue({"--at", "2031-01-01T00:00Z", "--id", "far"}),
            {"the job is due at 2030-12-01T00:00:0", " and not as --at says: it was stored before"},
            0},
           // Of a new job.
           {enqueue({"--finish-within", "0s"}), {"--finish-within 0s: the job fails at once, and never runs"}, 0},
           {enqueue({"--start-within", "9m", "--finish-within", "1m"}), {"--start-within has no effect: --finish"}, 0},
           {enqueue({"--timeout", "9m", "--finish-within", "1m"}), {"--timeout has no effect: --finish-within"}, 0},
           {enqueue({"--timeout", "1m", "--finish-within", "9m"}), {}, 0},
           {enqueue({"--after", "one", "--need", "0"}), {"--need: "}, 2},
           {enqueue({"--after", "one", "--on", "succeeded,finished"}), {"--on finished is any end: the others"}, 0},
           {enqueue({"--after", "one", "--on", "finished", "--unless", "run"}), {"--unless has no effect"}, 0},
           {enqueue({"--after", "nope", "--on", "finished", "--unless", "run", "--if-missing", "delete"}), {}, 0},
           {enqueue({"--exec-key", key}), {signs}, 0},
           {enqueue({"--exec-key", "no.key"}), {"cannot read the key file no.key: No such file"}},
           {{"enqueue-all", two, "--exec-key", key}, {signs}, 0},
           {{"enqueue-all", two, "--exec-key", "no.key"}, {"cannot read the key file no.key"}},
           {{"enqueue", "defualt", "noop", "{}"}, {"queue defualt is new; did you mean 'default'?"}, 0},
           {{"enqueue", "defualt", "noop", "{}"}, {}, 0},
           {{"enqueue-all", slip}, {"queue defaultt is new; did you mean 'default'?"}, 0},
           // Of a schedule.
           {{"recurring", "set", "a", "job=noop", "every=1h", "queue=defaul"},
            {"queue defaul is new; did you mean"},
            0},
           {{"recurring", "set", "a", "job=noop", "every=1h", "queue=default"}, {}, 0},
           {{"recurring", "set", "a", "job=noop", "every=1h", "catch_up_max=9"}, {"catch_up_max has no effect"}, 0},
           {{"recurring", "set", "a", "job=noop", "every=1h", "catch_up_max=9", "catch_up=all"}, {}, 0},
           {{"recurring", "set", "a", "job=noop", "every=1h", "--exec-key", key}, {signs}, 0},
           {{"recurring", "set", "b", "job=exec", "every=1h", R"(args={"argv": "date"})"},
            {R"(its jobs will fail: exec: "argv" must be a list of texts, the program first)"},
            0},
           {{"enqueue", "default", "exec", R"({"argb": ["date"]})"},
            {R"(the job will fail: exec: unknown key "argb"; known: argv, timeout, env)"},
            0},
           {{"recurring", "set", "a", "job=noop", "every=1h", "--exec-key", "no.key"}, {"cannot read the key file"}}})
    check_told(w.sluice(one.words), one);
  // The environment's key may be for other commands.
  const auto url = "--store=" + w.url;
  CHECK(sluice({"enqueue", "default", "noop", "{}", url}, "SLUICE_EXEC__KEY_FILE=no.key").err.empty());
}

TEST_CASE_METHOD(wrong_words, "a command refuses what stands behind others and it does not take") {
  for (const auto& one :
       std::vector<wrong>{{{"cron", "@daily", "--store", "sqlit:jobs.db"}, {"sluice cron: it takes no --store\n"}, 2},
                          {{"completion", "bash", "--json"}, {"sluice completion: it takes no --json\n"}, 2},
                          {{"--json", "manual"}, {"sluice manual: it takes no --json\n"}, 2},
                          {{"work", "fine.json", "--json"}, {"sluice work: it takes no --json\n"}, 2},
                          {{"dashboard", "--json", "--store", "sqlite:jobs.db"}, {"it takes no --json"}, 2},
                          {{"cron", "0 3 * * *", "--name", "nightly"}, {"--name has no effect: it decides what H"}, 0},
                          {{"cron", "H 3 * * *", "--name", "nightly"}, {}, 0}})
    check_told(sluice(one.words), one);
  CHECK(sluice({"cron", "@daily"}, "SLUICE_STORAGE=sqlit:jobs.db").exit_code == 0);
}

TEST_CASE_METHOD(wrong_words, "a list that is not all tells how many there are, and the very command that goes on") {
  std::string lines;
  for (int i = 0; i < 73; ++i)
    lines += "{}\n";
  REQUIRE(w.sluice({"enqueue", "default", "noop", "@" + file("lines", lines), "--bulk"}).exit_code == 0);
  const auto first = w.sluice({"jobs"});
  const std::string told = "sluice: 50 of 74 are shown; the next: sluice jobs --store ";
  CAPTURE(first.err);
  REQUIRE(first.err.starts_with(told));
  const auto next = first.err.substr(first.err.find("jobs --store"));
  const auto rest = run({"sh", "-c", cat(program_path("sluice"), " ", next)}, w.folder.path().string());
  CHECK(rest.exit_code == 0);
  CHECK(rest.err.empty());
  CHECK(std::count(rest.out.begin(), rest.out.end(), '\n') == 1 + 24);

  // What was typed stays, but for where it began; what a shell would take apart is quoted.
  const auto on = w.sluice({"jobs", "--limit", "3", "--match", "a='b", "--after", "enqueued:0-x"});
  CHECK(on.err.empty());
  const auto second = w.sluice({"jobs", "--type", "noop", "--limit", "3", "--since", "1 h"});
  CHECK(second.exit_code == 2);
  const auto typed = w.sluice({"jobs", "--type", "noop", "--header=a b=c", "--limit", "3"});
  CHECK(typed.err.empty());
  const auto some = w.sluice({"jobs", "--type=noop", "--limit", "3"});
  CHECK(says(some.err, "there are more; the next: sluice jobs --type=noop --limit 3 --store "));
  const auto of_state = w.sluice({"jobs", "--state", "enqueued", "--queue", "default", "--limit", "4"});
  CHECK(says(of_state.err, "4 of 74 are shown"));
}

TEST_CASE("a job that succeeded is not told to be halfway, where one that was stopped there is") {
  worker_world w;
  auto server = w.worker("one");
  const auto tells = [](const std::string& id, double done, bool is_ended) {
    auto job = noop(id, {{"progress", done}, {"words", "so far"}, {"until_stopped", !is_ended}});
    job.type = job_type("tells");
    return job;
  };
  w.enqueue({tells("half", 0.5, true), tells("whole", 1, true), tells("stopped", 0.5, false)});
  REQUIRE(eventually([&] { return w.get("stopped").progress.has_value(); }));
  REQUIRE(w.sluice({"cancel", "stopped"}).exit_code == 0);
  REQUIRE(eventually([&] { return w.counts().succeeded == 2 && w.counts().deleted == 1; }));
  for (const auto& [id, is_told] : {std::pair("half", false), {"whole", true}, {"stopped", true}}) {
    CAPTURE(id);
    CHECK(says(w.sluice({"show", id}).out, "\nprogress ") == is_told);
    CHECK(json::parse(w.sluice({"show", id, "--json"}).out).at("progress").is_object() == is_told);
  }
}

}  // namespace sluice::test
