// The files of a store: whose they are, and which are refused.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "storage/contract.hpp"
#include "storage/sqlite/file_lock.hpp"
#include "storage/sqlite/file_system.hpp"

using namespace sluice;
using namespace sluice::test;
using storage::sqlite::reach;
using storage::sqlite::reach_of;

namespace {

struct with_umask {
  explicit with_umask(mode_t mask) : before(::umask(mask)) {}
  ~with_umask() { ::umask(before); }
  mode_t before;
};

mode_t mode_of(const std::string& path) {
  struct stat file {};
  REQUIRE(::stat(path.c_str(), &file) == 0);
  return file.st_mode & 07777;
}

constexpr const char* tails[] = {"", "-wal", "-shm", ".lock", ".turn"};

}  // namespace

TEST_CASE("The files of a store are its owner's alone, or as its URL says, whatever the umask", "[sqlite]") {
  const auto mask = GENERATE(as<mode_t>(), 0, 077);
  const auto [option, mode] = GENERATE(table<const char*, mode_t>({{"", 0600}, {"?mode=0660", 0660}}));
  CAPTURE(mask, option);
  const with_umask meanwhile(mask);
  const temp_dir folder;
  world w(folder.url() + option);
  put_all(w, {"a"});
  for (const auto* tail : tails) {
    CAPTURE(tail);
    CHECK(mode_of(folder.file("jobs.db") + tail) == mode);
  }
}

TEST_CASE("Who may only read a store may not lock it", "[sqlite]") {
  sqlite_file_world w;
  const auto path = w.folder.file("jobs.db");
  for (const auto& [mode, of_locks] : {std::pair<mode_t, mode_t>{0644, 0600}, {0664, 0660}, {0666, 0666}}) {
    CAPTURE(mode);
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
    std::filesystem::remove(path + ".lock");
    std::filesystem::remove(path + ".turn");
    w.reopen();
    CHECK(mode_of(path + ".lock") == of_locks);
    CHECK(mode_of(path + ".turn") == of_locks);
    CHECK(mode_of(path) == mode);
  }
}

TEST_CASE("The mode of a file in a URL is one that its owner can work with", "[sqlite]") {
  CHECK(storage::check_url("sqlite:x?mode=660&max_pages=100&local=yes").ok());
  for (const auto* wrong : {"mode=", "mode=0400", "mode=0777", "mode=4600", "mode=rw", "mode=0660&", "local=no"}) {
    CAPTURE(wrong);
    CHECK(storage::check_url(std::string("sqlite:x?") + wrong).error().code == errc::invalid_argument);
  }
}

TEST_CASE("A file with two names is refused under both", "[sqlite]") {
  const temp_dir folder;
  REQUIRE(storage::open_store(folder.url()).ok());
  std::filesystem::create_hard_link(folder.file("jobs.db"), folder.file("other.db"));
  for (const auto* name : {"jobs.db", "other.db"}) {
    const auto opened = storage::open_store(folder.url(name));
    REQUIRE_FALSE(opened.ok());
    CHECK(opened.error().code == errc::invalid_argument);
    CHECK(opened.error().message.find("hard links") != std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(folder.file("other.db.lock")));
  std::filesystem::remove(folder.file("other.db"));
  CHECK(storage::open_store(folder.url()).ok());
}

TEST_CASE("A store that is made through a link is locked where all others will lock it", "[sqlite]") {
  const temp_dir folder;
  std::filesystem::create_symlink("second.db", folder.file("first.db"));
  std::filesystem::create_symlink(folder.file("jobs.db"), folder.file("second.db"));
  REQUIRE(storage::open_store(folder.url("first.db")).ok());
  CHECK(std::filesystem::exists(folder.file("jobs.db.lock")));
  for (const auto* name : {"first.db.lock", "second.db.lock"})
    CHECK_FALSE(std::filesystem::exists(folder.file(name)));
}

TEST_CASE("A lock that is a link is refused, and what it leads to is not made", "[sqlite]") {
  const temp_dir folder;
  const std::string tail = GENERATE(".lock", ".turn");
  std::filesystem::create_symlink(folder.file("elsewhere"), folder.file("jobs.db") + tail);
  const auto opened = storage::open_store(folder.url());
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().code == errc::io_error);
  CHECK(opened.error().message.find("link") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.file("elsewhere")));
}

TEST_CASE("A holder of the lock that does not live is not named", "[sqlite]") {
  sqlite_file_world w;
  const std::atomic<bool> never{false};
  auto lock = storage::sqlite::file_lock::open(w.folder.file("jobs.db"));
  REQUIRE(lock.ok());
  REQUIRE(lock->acquire(1s, never).ok());
  w.store().stop_waiting();
  const auto who = GENERATE(as<std::string>(), "99999999 ", "-1 ", "0 ", "nobody ", "");
  std::ofstream(w.folder.file("jobs.db.turn"), std::ios::trunc) << who;
  const auto r = enqueue_of("a");
  const auto answers = w.store().apply({&r, 1});
  REQUIRE(code_of(answers.at(0)) == errc::storage_busy);
  CHECK(std::get<error>(answers[0]).message.starts_with("an unknown process holds"));
}

TEST_CASE("A folder in which no file can be made is told of with the reason", "[sqlite]") {
  using storage::sqlite::why_no_file_beside;
  const temp_dir folder;
  CHECK(why_no_file_beside(folder.file("jobs.db")).empty());
  CHECK(why_no_file_beside(folder.file("none/jobs.db")) ==
        "this user may not write its folder " + folder.file("none") + " (No such file or directory)");
}

TEST_CASE("File systems of other machines are known, and those that may be", "[sqlite]") {
  for (const long magic : {0x6969L, 0x517bL, 0xff534d42L, 0xfe534d42L, 0x00c36400L, 0x0bd00bd0L})
    CHECK(reach_of(magic) == reach::network);
  CHECK(reach_of(static_cast<std::int32_t>(0xff534d42)) == reach::network);  // as some machines tell it
  for (const long magic : {0x01021997L, 0x65735546L})
    CHECK(reach_of(magic) == reach::unknown);
  for (const long magic : {0x01021994L, 0x858458f6L})
    CHECK(reach_of(magic) == reach::memory);
  for (const long magic : {0xef53L, 0x58465342L, 0x9123683eL, 0x794c7630L})  // ext4, XFS, Btrfs, overlay
    CHECK(reach_of(magic) == reach::local);
}

namespace {

std::set<int> open_files() {
  std::set<int> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    all.insert(std::stoi(entry.path().filename().string()));
  return all;
}

// Takes the numbers below 1,100, as connections of a busy host do.
class many_open_files {
public:
  many_open_files() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    auto more = before_;
    more.rlim_cur = std::min<rlim_t>(more.rlim_max, 4'096);
    if (more.rlim_cur > before_.rlim_cur) ::setrlimit(RLIMIT_NOFILE, &more);
    for (int file = 0; file >= 0 && file < 1'100; files_.push_back(file))
      file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  ~many_open_files() {
    for (const int file : files_)
      ::close(file);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  many_open_files(const many_open_files&) = delete;

private:
  rlimit before_{};
  std::vector<int> files_;
};

}  // namespace

ON_EACH_STORE_AND_FILE("A store works beyond a thousand open files and leaves none of its own to other programs") {
  const many_open_files many;
  const auto before = open_files();
  REQUIRE(*before.rbegin() >= 1'100);
  auto opened = storage::open_store(w.url(), &w.clock);
  REQUIRE(opened.ok());
  auto& s = **opened;
  const std::vector<storage::request> work = {enqueue_of("a"), claiming({.free = 1})};
  const auto answers = s.apply(work);
  REQUIRE(code_of(answers.at(0)) == errc::none);
  REQUIRE(ids(std::get<storage::claim_answer>(answers.at(1))) == names{"a"});
  for (const int file : open_files())
    if (before.count(file) == 0) {
      const int flags = ::fcntl(file, F_GETFD);
      if (flags < 0) continue;  // of the look itself
      CAPTURE(file);
      CHECK(file >= 1'000);
      CHECK((flags & FD_CLOEXEC) != 0);
    }
}
