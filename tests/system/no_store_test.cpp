// Commands on a store that is not there.
#include <filesystem>

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

}  // namespace sluice::test
