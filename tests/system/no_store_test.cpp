// Commands on a store that is not there.
#include <filesystem>

#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {
namespace {

ran sluice(std::vector<std::string> words, const std::string& url) {
  const temp_dir elsewhere;
  words.insert(words.begin(), program_path("sluice"));
  words.insert(words.end(), {"--store", url});
  return run(words, elsewhere.path().string());
}

using words = std::vector<std::string>;

}  // namespace

TEST_CASE("a command that looks or changes says that there is no store and makes none") {
  const temp_dir folder;
  for (const auto& command : {words{"jobs"},
                              {"show", "a"},
                              {"queues"},
                              {"servers"},
                              {"explain", "a"},
                              {"audit"},
                              {"upgrade"},
                              {"throttlers"},
                              {"throttler", "show", "semaphore:a"},
                              {"throttler", "remove", "semaphore:a"},
                              {"recurring", "list"},
                              {"recurring", "show", "a"},
                              {"recurring", "remove", "a"},
                              {"recurring", "trigger", "a"},
                              {"recurring", "pause", "a"},
                              {"recurring", "resume", "a"},
                              {"requeue", "a"},
                              {"delete", "a"},
                              {"pause", "a"},
                              {"resume", "a"}}) {
    CAPTURE(command);
    const auto said = sluice(command, folder.url());
    CHECK(said.exit_code == 1);
    CHECK(said.out.empty());
    CHECK(said.err.find("there is no store at " + folder.file("jobs.db")) != std::string::npos);
    CHECK(std::filesystem::is_empty(folder.path()));
  }
}

TEST_CASE("a command that makes a store says so once") {
  const temp_dir folder;
  const auto first = sluice({"enqueue", "default", "noop", "{}"}, folder.url());
  CHECK(first.exit_code == 0);
  CHECK(first.err.find("made a new store: " + folder.file("jobs.db")) != std::string::npos);
  CHECK(sluice({"enqueue", "default", "noop", "{}"}, folder.url()).err.empty());
  const auto missed = sluice({"jobs"}, folder.url("job.db"));
  CHECK(missed.exit_code == 1);
  CHECK(missed.err.find("did you mean jobs.db?") != std::string::npos);
}

TEST_CASE("a file that is mounted without its folder is refused, and one whose folder is mounted is not") {
  const temp_dir folder;
  for (const auto* name : {"host", "app"})
    std::filesystem::create_directory(folder.file(name));
  if (run({"unshare", "--mount", "true"}, folder.path().string()).exit_code != 0) {
    WARN("skipped: nobody may mount here");
    return;
  }
  const words enqueue{"enqueue", "default", "noop", "{}"};
  REQUIRE(sluice(enqueue, folder.url("host/jobs.db")).exit_code == 0);
  write_file(folder.file("app/jobs.db"), "");
  const auto mounted = [&](const std::string& what) {
    return run({"unshare", "--mount", "sh", "-c",
                cat("mount --bind ", folder.file("host" + what), ' ', folder.file("app" + what), " && exec ",
                    program_path("sluice"), " jobs --store ", folder.url("app/jobs.db"))},
               folder.path().string());
  };
  const auto alone = mounted("/jobs.db");
  CHECK(alone.exit_code == 1);
  CHECK(alone.err.find("mount its folder") != std::string::npos);
  const auto with_its_folder = mounted("");
  CHECK(with_its_folder.err == "");
  CHECK(with_its_folder.exit_code == 0);
}

TEST_CASE("a store in a folder that cannot be written is told of with the reason") {
  const temp_dir folder;
  std::filesystem::create_directory(folder.file("kept"));
  REQUIRE(sluice({"enqueue", "default", "noop", "{}"}, folder.url("kept/jobs.db")).exit_code == 0);
  for (const auto* tail : {"-wal", "-shm"})
    std::filesystem::remove(folder.file("kept/jobs.db") + tail);
  if (run({"unshare", "--mount", "true"}, folder.path().string()).exit_code != 0) {
    WARN("skipped: nobody may mount here");
    return;
  }
  const auto kept = folder.file("kept");
  const auto looked = run({"unshare", "--mount", "sh", "-c",
                           cat("mount --bind ", kept, " ", kept, " && mount -o remount,bind,ro ", kept, " && exec ",
                               program_path("sluice"), " jobs --store ", folder.url("kept/jobs.db"))},
                          folder.path().string());
  CAPTURE(looked.err);
  CHECK(looked.exit_code == 1);
  CHECK(looked.err.find("its folder " + kept + " is on a read-only file system") != std::string::npos);
  CHECK(looked.err.find("to a folder that can be written") != std::string::npos);
}

}  // namespace sluice::test
