#include "storage/sqlite/sqlite_store.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/log.hpp"
#include "storage/file_name.hpp"
#include "storage/machine/audit.hpp"
#include "storage/machine/transitions.hpp"
#include "storage/sqlite/file_check.hpp"
#include "storage/sqlite/file_lock.hpp"
#include "storage/sqlite/file_system.hpp"
#include "storage/sqlite/file_watch.hpp"
#include "storage/sqlite/rows_check.hpp"
#include "storage/sqlite/schema.hpp"
#include "storage/sqlite/script_engine.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr int checkpoint_after_pages = 1'000;
constexpr int long_log_pages = 16 * checkpoint_after_pages;
constexpr auto between_warnings = std::chrono::minutes(10);
constexpr duration long_wait = std::chrono::milliseconds(100);
// For what the next reader would do as well.
constexpr duration short_timeout = std::chrono::milliseconds(50);

// Keys are as on Redis.
constexpr std::string_view prefix = "{sluice}";

// What was asked of one batch: all of it is known before the first is run.
class embedded_steps final : public machine::steps {
public:
  struct step {
    machine::call what;
    std::function<void(const machine::item&)> read;
    std::function<void(const error&)> failed;
  };

  void send(machine::call c, std::function<void(const machine::item&)> read,
            std::function<void(const error&)> failed) override {
    sent.push_back({std::move(c), std::move(read), std::move(failed)});
  }

  std::vector<step> sent;
};

// With the file that was meant, if one in the folder is called much alike.
error no_store(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path asked(path);
  std::vector<std::string> others;
  std::error_code ended;
  for (fs::directory_iterator at(asked.parent_path(), ended), end; !ended && at != end; at.increment(ended)) {
    std::error_code unknown;
    // A store has its lock beside it. The file is not opened for a look: to close it would drop SQLite's locks on it.
    if (at->path() != asked && at->is_regular_file(unknown) && fs::exists(at->path().string() + ".lock", unknown))
      others.push_back(at->path().filename().string());
  }
  const auto meant = nearest(asked.filename().string(), others);
  if (!meant) return {errc::not_found, cat("there is no store at ", printable(path, 300)), error_subject::store};
  return {errc::not_found,
          cat("there is no store at ", printable(path, 300), "; did you mean ", printable(*meant, 300), "?")};
}

class sqlite_store final : public store {
public:
  sqlite_store(place where, open_mode mode, const clock& clock, const machine::library& known)
      : path_(std::move(where.path)),
        max_pages_(where.max_pages),
        file_mode_(where.mode),
        is_local_(where.is_local),
        mode_(mode),
        clock_(clock),
        known_(known) {}

  ~sqlite_store() override {
    checking_ = {};
    if (db_ && lock_ && pages_in_log_ > copied_) checkpoint();
    close();
  }

  result<void> open() {
    if (in_memory()) return open_database(access::make);
    // One name for one file: its lock stands beside it, whatever link or spelling led here.
    const auto asked = path_;
    path_ = real_name(asked);
    if (auto local = refuse_network(); !local) return local;
    struct stat file {};
    const bool is_there = ::stat(path_.c_str(), &file) == 0;
    if (!is_there && errno != ENOENT)
      return error{errc::io_error, cat("cannot look at ", printable(path_, 300), ": ", std::strerror(errno))};
    if (is_there)
      if (auto fine = check_file(file); !fine) return fine;
    if (!is_there && mode_ != open_mode::may_make) return no_store(path_);
    // A store that is there already is only looked at, which needs no lock.
    auto there =
        is_there ? open_database(is_read_only() ? access::look : access::change) : error{errc::not_found, path_};
    if (is_read_only()) return there;
    const auto why = there ? errc::none : there.error().code;
    if (why == errc::not_found ? mode_ != open_mode::may_make : why != errc::none && why != errc::storage_busy)
      return there;
    if (auto made = make_file(); !made) return made;
    // What leads here now must lead everybody here, or they would lock beside another name.
    if (real_name(asked) != path_)
      return error{errc::storage_busy, cat(printable(asked, 300), " leads elsewhere since a moment; nothing was done")};
    auto lock = file_lock::open(path_);
    if (!lock) return lock.error();
    lock_ = std::make_unique<file_lock>(std::move(*lock));
    return there ? there : reopen();
  }

  // In place of `open`, for a store of which nothing else is asked.
  result<raising> raise_layout() {
    raises_ = true;
    if (auto opened = open(); !opened) return opened.error();
    if (auto held = lock(busy_timeout); !held) return held.error();
    const letting_go at_the_end{*this};
    raising said;
    const auto wrong = transact("BEGIN IMMEDIATE", [&] {
      const auto by_tables = layout_of(*db_);
      keys_->begin_call(true);
      engine_->run(machine::raise_from(by_tables), instant_, {},
                   [&](const machine::item& reply) { said = machine::read_raising(reply, known_.layout()); });
      keys_->flush();
      if (said.waits_for.empty() && by_tables < known_.layout()) say_layout(*db_, known_.layout());
    });
    if (wrong) return wrong->what;
    if (said.from < said.to && said.waits_for.empty())
      log::info("raised the store ", path_, " from layout ", said.from, " to ", said.to);
    return said;
  }

  std::vector<answer> apply(std::span<const request> batch) override {
    std::vector<answer> answers(batch.size());
    made_work_ = {};
    const auto fail_all = [&](const error& e) {
      answers.assign(batch.size(), answer(e));
      return answers;
    };
    if (lost_) return fail_all(*lost_);
    if (!db_)
      if (auto again = reopen(); !again) return fail_all(again.error());
    try {
      if (auto wrong = carry_out(batch, answers)) {
        if (batch.size() > 1 && wrong->is_of_one) return one_by_one(batch);
        return fail_all(wrong->what);
      }
    } catch (const std::exception& e) {
      return fail_all(what_is(e));
    }
    return answers;
  }

  const hint& made_work() const override { return made_work_; }

  void tidy() override {
    if (pages_in_log_ - at_checkpoint_ < checkpoint_after_pages || !db_ || lost_) return;
    checkpoint();
  }

  // Of what others wrote nothing is known but that they did, and whether somebody is asked to end. Where this process
  // wrote too, it was told already.
  std::unique_ptr<watch> watch_others(std::function<void(const hint&)> callback) override {
    if (!lock_) return nullptr;
    return watch_file(lock_->path(),
                      [this, callback = std::move(callback), heard = lock_->notified_by_others()]() mutable {
                        const auto now = lock_->notified_by_others();
                        if (now.all <= heard.all) return;
                        auto meant = hint::of_any_work();
                        meant.cancels = now.cancels > heard.cancels;
                        heard = now;
                        callback(meant);
                      });
  }

  sluice::durability durability() const override { return durability_; }

  std::string settings() const override {
    if (in_memory()) return "in memory";
    return cat("journal_mode WAL, synchronous FULL", is_in_ram_ ? ", on a file system in memory" : "");
  }

  result<void> ready() override { return {}; }

  result<std::vector<std::string>> audit() override {
    if (lost_) return *lost_;
    auto found = machine::audit([this](machine::call c, const std::function<void(const machine::item&)>& read) {
      return look_once([&] { run({std::move(c), read, {}}, false); });
    });
    if (!found) return found;
    if (auto checked = check_rows(*found); !checked) return checked.error();
    machine::cut_findings(*found);
    return found;
  }

  result<void> repair(const telling& tell) override {
    if (lost_) return *lost_;
    if (is_read_only()) return machine::only_read(path_);
    const auto ask = [this](machine::call c, const std::function<void(const machine::item&)>& read) -> result<void> {
      if (machine::is_read_only(c.what())) return look_once([&] { run({std::move(c), read, {}}, false); });
      if (!db_)
        if (auto again = reopen(); !again) return again;
      embedded_steps x;
      x.send(std::move(c), read, [](const error&) {});
      if (auto held = lock(busy_timeout); !held) return held;
      const auto wrong = write(x);
      return wrong ? result<void>(wrong->what) : result<void>();
    };
    if (auto gone = machine::repair(ask, tell); !gone) return gone;
    std::vector<std::string> rows;
    if (auto checked = check_rows(rows); !checked) return checked;
    machine::cut_findings(rows);
    for (auto& one : rows)
      tell({std::move(one), ""});
    return {};
  }

  void stop_waiting() override { stop_ = true; }

  void check_in_background() override {
    if (in_memory()) return;
    std::call_once(checks_, [this] {
      checking_ = std::jthread([this](const std::stop_token& stop) {
        const auto found = find_damage(path_, stop);
        if (found.empty()) return;
        log::error("store ", path_, " is damaged: ", found);
        found_ = found;
        has_found_ = true;
      });
    });
  }

  bool has_failed_for_good() const override { return lost_ || damaged_; }

private:
  using access = database::access;

  bool in_memory() const { return path_ == ":memory:"; }
  bool is_read_only() const { return mode_ == open_mode::read_only; }

  struct letting_go {
    sqlite_store& me;
    ~letting_go() { me.unlock(); }
  };

  // What went wrong. `is_of_one`: the others of a batch may well succeed.
  struct trouble {
    error what;
    bool is_of_one = false;
  };

  // All of it is done or, with whatever went wrong, nothing.
  template <class Work>
  std::optional<trouble> transact(const char* begin, const Work& work) {
    bool committing = false;
    try {
      db_->prepare(begin).run();
      keys_->begin();
      instant_ = std::to_string(micros(clock_.now()));
      work();
      committing = true;
      db_->prepare("COMMIT").run();
      return std::nullopt;
    } catch (const command_error& e) {
      roll_back();
      return trouble{what_is(e), true};
    } catch (const failure& f) {
      recover(f);
      auto e = to_error(f, committing);
      e.message = cat(in_memory() ? "the store in memory" : printable(path_, 300), ": ", e.message);
      return trouble{std::move(e), concerns_one(f)};
    } catch (const std::exception& e) {
      roll_back();
      return trouble{what_is(e), true};
    }
  }

  std::optional<trouble> carry_out(std::span<const request> batch, std::vector<answer>& answers) {
    embedded_steps x;
    machine::ask_all(x, batch, answers);
    if (is_read_only() && !is_read_only_batch(x)) return trouble{machine::only_read(path_), true};
    if (may_only_read(x)) {
      bool looked = false;
      if (auto wrong = transact("BEGIN", [&] { looked = look(x); })) return wrong;
      if (looked) {
        move_to_quarantine_later(x);
        return std::nullopt;
      }
      answers.assign(batch.size(), {});  // some were answered
      x = {};
      machine::ask_all(x, batch, answers);
    }
    const auto asked = std::chrono::steady_clock::now();
    if (auto held = lock(busy_timeout); !held) return trouble{held.error()};
    waited_long_ = waited_before_ || std::chrono::steady_clock::now() - asked > long_wait;
    if (auto wrong = write(x)) return wrong;
    made_work_ = x.made_work;
    move_to_quarantine_later(x);
    return std::nullopt;
  }

  template <class Work>
  result<void> look_once(const Work& work) {
    if (!db_)
      if (auto again = reopen(); !again) return again;
    const auto wrong = transact("BEGIN", work);
    return wrong ? result<void>(wrong->what) : result<void>();
  }

  // Whether the rows of the file agree with each other.
  result<void> check_rows(std::vector<std::string>& found) {
    rows_check rows;
    for (bool goes_on = true; goes_on && found.size() < machine::max_findings;) {
      auto looked = look_once([&] { goes_on = rows.check_some(*db_, found); });
      if (looked) continue;
      if (looked.error().code != errc::storage_damaged) return looked;
      found.push_back(cat("the rows cannot be looked at: ", looked.error().message));
      break;
    }
    return {};
  }

  // With the lock held, which it lets go.
  std::optional<trouble> write(const embedded_steps& x) {
    const letting_go at_the_end{*this};
    bool published = false;
    auto wrong = transact("BEGIN IMMEDIATE", [&] {
      for (const auto& s : x.sent)
        published = run(s, true) || published;
      keys_->flush();
    });
    if (!wrong && published && lock_) lock_->touch(x.made_work.cancels);
    return wrong;
  }

  // Whether other processes have something to hear.
  bool run(const embedded_steps::step& s, bool may_write) {
    // While we waited nobody could renew: whoever was seen silent before gets a new chance.
    if (may_write && waited_long_ && s.what.what() == machine::verb::reap) {
      s.failed({errc::storage_busy, "others were kept from renewing; look again"});
      return false;
    }
    const bool is_full = may_write && machine::needs_room(s.what.what()) && !has_room();
    keys_->begin_call(may_write && !is_full);
    try {
      engine_->run(s.what, instant_, {}, s.read);
    } catch (const command_error&) {
      if (!is_full || !keys_->wanted_to_write()) throw;
      s.failed({errc::storage_full, cat(path_, " holds as much as max_pages allows")});
    }
    return keys_->has_published();
  }

  error what_is(const command_error& e) const {
    if (auto unknown = machine::unknown_layout(e.message, path_)) return *unknown;
    log::error("store ", path_, ": ", printable(e.message, 300));
    return {errc::storage_damaged, cat(path_, ": ", printable(e.message, 300))};
  }

  error what_is(const std::exception& e) const {
    log::error("store ", path_, ": ", e.what());
    return {errc::storage_unavailable, cat(path_, ": ", e.what())};
  }

  // New jobs leave room for the ends of those that are there: one that has ended takes two to three times the room of
  // one that waits, and a row that is written anew takes its room twice meanwhile.
  bool has_room() {
    if (max_pages_ == 0) return true;
    const auto number = [&](const char* sql) {
      auto q = db_->prepare(sql);
      return q.step() ? q.number(0) : 0;
    };
    const auto used = number("PRAGMA page_count") - number("PRAGMA freelist_count");
    return 3 * used <= max_pages_;
  }

  // Failures of what was asked, not of the store: the others of the batch may well succeed.
  static bool concerns_one(const failure& f) {
    const int code = f.code & 0xff;
    return code == SQLITE_FULL || code == SQLITE_TOOBIG || code == SQLITE_CONSTRAINT || code == SQLITE_MISMATCH ||
           (code == SQLITE_CORRUPT && !is_of_file(f));
  }

  std::vector<answer> one_by_one(std::span<const request> batch) {
    std::vector<answer> answers;
    hint work;
    waited_before_ = waited_long_;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      answers.push_back(std::move(apply(batch.subspan(i, 1)).front()));
      work.add(made_work_);
    }
    waited_before_ = false;
    made_work_ = std::move(work);
    return answers;
  }

  result<void> check_file(const struct stat& file) const {
    if (!S_ISREG(file.st_mode))
      return error{errc::invalid_argument, cat(printable(path_, 300), " is no file; name one, as in sqlite:jobs.db")};
    if (file.st_nlink > 1)
      return error{
          errc::invalid_argument,
          cat(printable(path_, 300), " has ", file.st_nlink,
              " names (hard links), and each would have a log and a lock of its own; remove all names but one")};
    if (is_mounted_alone(path_))
      return error{errc::invalid_argument, cat(printable(path_, 300),
                                               " is mounted alone, and its log and its lock would stand beside the "
                                               "mount, where nobody else sees them; mount its folder")};
    constexpr auto smallest = 512;  // SQLite takes a shorter one for a new one
    if (file.st_size > 0 && file.st_size < smallest)
      return no_store_of_ours(path_, cat("it has ", file.st_size, " bytes, fewer than any store"));
    return {};
  }

  // SQLite gives -wal and -shm the mode of the file that it finds. Only an empty one that is made here is closed again:
  // that would drop SQLite's locks on any other.
  result<void> make_file() {
    if (::access(path_.c_str(), F_OK) == 0) return {};
    const int made = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, file_mode_);
    if (made < 0 && errno == EEXIST) return {};  // another was first
    const bool failed = made < 0 || ::fchmod(made, file_mode_) != 0;
    const int why = errno;
    if (made >= 0) ::close(made);
    if (failed) return error{errc::io_error, cat("cannot make ", printable(path_, 300), ": ", std::strerror(why))};
    return {};
  }

  // Locks and shared memory do not work over a network.
  result<void> refuse_network() {
    const auto slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path_.substr(0, slash);
    struct statfs fs {};
    if (::statfs(folder.c_str(), &fs) != 0)
      return error{errc::io_error,
                   cat("cannot look at the folder of ", path_, ": ", std::strerror(errno), "; make it first")};
    const auto far = reach_of(static_cast<long>(fs.f_type));
    is_in_ram_ = far == reach::memory;
    if (far == reach::network)
      return error{errc::invalid_argument,
                   cat(path_, " is on a network file system, where SQLite's locks do not hold; use a local disk")};
    if (far == reach::unknown && !is_local_)
      return error{errc::invalid_argument,
                   cat(path_,
                       " is on a file system of a program (FUSE, 9p), which may be another machine's, and there "
                       "SQLite's locks do not hold; use a local disk, or say ?local=yes where no other machine "
                       "has it")};
    return {};
  }

  // SQLite says of a -wal or -shm that it cannot make no more than that it cannot open the database.
  std::string why_not_opened(const failure& f) const {
    if (in_memory() || (f.code & 0xff) != SQLITE_CANTOPEN) return {};
    const auto why = why_no_file_beside(path_);
    if (why.empty()) return {};
    return cat("; SQLite makes a -wal and a -shm beside the file, also to look at it, and ", why,
               ". Copy the file, and its -wal if there is one, to a folder that can be written");
  }

  // To make it: with the lock held, the tables are made when missing. Else that is not_found.
  result<void> open_database(access how) {
    try {
      db_ = std::make_unique<database>(path_, how);
      // Nothing is written before we know that it is ours.
      auto ours = check_schema(*db_, path_, known_.layout());
      if (raises_ && !ours && ours.error().code == errc::storage_older) ours = {};
      const bool is_new = ours && !is_made(*db_);
      if (is_new && how != access::make) ours = no_store(path_);
      if (!ours) {
        close();
        return ours;
      }
      durability_ = configure(*db_, max_pages_, how != access::look);
      if (is_in_ram_) durability_ = durability::volatile_;
      if (is_new) {
        db_->execute("BEGIN IMMEDIATE");
        make_schema(*db_, known_.layout());
        db_->execute("COMMIT");
        if (!in_memory()) log::info("made a new store: ", path_);
      }
    } catch (const failure& f) {
      close();
      auto e = is_no_database(f) ? no_store_of_ours(path_, "it is no SQLite database") : to_error(f, false);
      e.message = is_no_database(f) ? cat(e.message, ", or, if it was a store, ", how_to_recover)
                                    : cat("opening ", path_, ": ", e.message, why_not_opened(f));
      return e;
    }
    if (!in_memory() && !was_open_) file_.learn(path_);
    if (!in_memory() && how != access::look) {
      log_.learn(path_ + "-wal");
      shared_.learn(path_ + "-shm");
    }
    sqlite3_wal_hook(
        db_->handle(),
        [](void* self, sqlite3*, const char*, int pages) {
          static_cast<sqlite_store*>(self)->log_grew(pages);
          return SQLITE_OK;
        },
        this);
    was_open_ = true;
    keys_ = std::make_unique<keyspace>(*db_, prefix);
    engine_ = std::make_unique<script_engine>(*keys_, prefix, script_engine::bounds(), known_);
    return {};
  }

  result<void> reopen() {
    if (auto held = acquire(busy_timeout); !held) return held;
    auto opened = was_open_ ? find_again() : result<void>();
    const bool may_make = mode_ == open_mode::may_make && !was_open_;
    if (opened)
      opened = open_database(is_read_only() ? access::look : in_memory() || may_make ? access::make : access::change);
    if (opened && log_is_in_doubt_ && !damaged_) opened = write_log_again();
    unlock();
    return opened;
  }

  // What the failed sync left out is read as committed now, and will be acknowledged to whoever asks again.
  result<void> write_log_again() {
    try {
      db_->write_log_again();
    } catch (const failure& f) {
      close();
      auto e = to_error(f, false);
      e.message = cat("opening ", path_, ": ", e.message);
      return e;
    }
    log_is_in_doubt_ = false;
    return {};
  }

  result<void> lock(duration timeout) {
    if (has_found_ && !damaged_) stop_writing(found_);
    if (damaged_) return *damaged_;
    if (!lock_) return {};
    if (auto held = acquire(timeout); !held) return held;
    auto found = find_again();
    if (!found) lock_->release();
    return found;
  }

  result<void> acquire(duration timeout) {
    if (!lock_) return {};
    auto held = lock_->acquire(timeout, stop_);
    if (!held && held.error().code == errc::storage_lost) lost_ = held.error();
    return held;
  }

  // The files that we have open must still be what the paths name: others would make new ones, and see nothing of what
  // stands in ours.
  result<void> find_again() {
    if (in_memory()) return {};
    const auto* const replaced = !file_.is_still(path_)              ? ""
                                 : !log_.is_still(path_ + "-wal")    ? "-wal"
                                 : !shared_.is_still(path_ + "-shm") ? "-shm"
                                                                     : nullptr;
    if (!replaced) return {};
    lost_ = error{errc::storage_lost, cat(path_, replaced,
                                          " was removed or replaced while in use; what is written now would be lost. "
                                          "Restart on the right file")};
    return *lost_;
  }

  void unlock() {
    if (lock_) lock_->release();
  }

  // Whether it is worth a look without the lock. What has to do with lines that are not empty is not.
  static bool may_only_read(const embedded_steps& x) {
    return std::all_of(x.sent.begin(), x.sent.end(), [](const auto& s) {
      return machine::is_read_only(s.what.what()) || machine::may_find_nothing(s.what.what());
    });
  }

  static bool is_read_only_batch(const embedded_steps& x) {
    return std::all_of(x.sent.begin(), x.sent.end(),
                       [](const auto& s) { return machine::is_read_only(s.what.what()); });
  }

  // Answers the batch from one snapshot, without the lock, when none of it would change anything.
  bool look(const embedded_steps& x) {
    return std::all_of(x.sent.begin(), x.sent.end(), [&](const auto& s) { return look(s); });
  }

  bool look(const embedded_steps::step& s) {
    const auto keys = machine::keys_of_work(s.what, prefix);
    if (!std::all_of(keys.begin(), keys.end(), [&](const auto& key) { return keys_->is_empty(key); })) return false;
    try {
      run(s, false);
      return true;
    } catch (const command_error&) {
      if (keys_->wanted_to_write()) return false;
      throw;
    }
  }

  // Of what was come upon. Where it cannot be done it stays, and `transact` said why; the next reader finds it again.
  void move_to_quarantine_later(const embedded_steps& x) {
    if (x.broken.empty()) return;
    if (is_read_only()) return machine::leave_broken(x.broken);
    for (const auto& one : x.broken) {
      embedded_steps aside;
      machine::move_to_quarantine(aside, {one});
      if (!lock(short_timeout)) return;
      if (!write(aside)) made_work_.add(aside.made_work);
    }
  }

  void roll_back() {
    keys_->forget();
    try {
      if (db_->in_transaction()) db_->execute("ROLLBACK");
    } catch (const failure& again) {
      log::error("store ", path_, ": rollback: ", again.message);
    }
  }

  void recover(const failure& f) {
    log::error("store ", path_, ": ", f.message);
    roll_back();
    if (is_of_file(f)) stop_writing(f.message);
    // After a failed write or fsync nothing this connection believes about the file can be trusted.
    if ((f.code & 0xff) == SQLITE_IOERR) close();
    if (f.code == SQLITE_IOERR_FSYNC) log_is_in_doubt_ = true;
  }

  void close() {
    engine_.reset();
    keys_.reset();
    db_.reset();
    log_.forget();
    shared_.forget();
  }

  // What is written to a damaged file may cost what could be recovered of it; it can be looked at still.
  void stop_writing(const std::string& why) {
    if (damaged_) return;
    damaged_ = error{errc::storage_damaged,
                     cat(path_, " is damaged (", printable(why, 300),
                         "), and nothing is written any more. End every process on it, keep a copy of it and its -wal, "
                         "and ",
                         how_to_recover)};
  }

  void log_grew(int pages) {
    if (pages < at_checkpoint_) at_checkpoint_ = copied_ = 0;  // it has begun anew
    pages_in_log_ = pages;
  }

  void checkpoint() {
    if (auto held = lock(busy_timeout); !held) return;  // the log grows on; the next commit asks again
    int in_log = 0, copied = 0;
    const int code = sqlite3_wal_checkpoint_v2(db_->handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &in_log, &copied);
    unlock();
    if (code != SQLITE_OK && code != SQLITE_BUSY) {
      const failure f{code, sqlite3_errmsg(db_->handle()), true};
      log::error("store ", path_, ": checkpoint: ", f.message);
      if (is_of_file(f)) stop_writing(f.message);
    }
    // A log that was copied begins anew with the next commit, unless somebody reads what stands in it.
    if (at_checkpoint_ > 0 && in_log > at_checkpoint_) tell_of_long_log(in_log);
    at_checkpoint_ = std::max(in_log, pages_in_log_);
    copied_ = std::max(copied, 0);
  }

  void tell_of_long_log(int pages) {
    const auto now = std::chrono::steady_clock::now();
    if (pages < long_log_pages || (told_of_log_ && now - *told_of_log_ < between_warnings)) return;
    told_of_log_ = now;
    log::warn("store ", path_, ": its log (-wal) holds ", pages / 256,
              " MiB and cannot be cut back while some process reads the store without an end; it goes on growing");
  }

  std::string path_;
  std::uint32_t max_pages_;
  const mode_t file_mode_;
  const bool is_local_;
  bool is_in_ram_ = false;
  const open_mode mode_;
  const clock& clock_;
  const machine::library& known_;
  bool raises_ = false;  // opened for nothing else
  std::atomic<bool> stop_{false};
  std::unique_ptr<file_lock> lock_;
  std::unique_ptr<database> db_;
  std::unique_ptr<keyspace> keys_;
  std::unique_ptr<script_engine> engine_;
  std::optional<error> lost_;
  known_file file_, log_, shared_;
  bool was_open_ = false;         // from then on it is there, or lost
  bool log_is_in_doubt_ = false;  // whether what can be read of it is on the disk
  std::optional<error> damaged_;
  int pages_in_log_ = 0;   // of 4 KiB
  int at_checkpoint_ = 0;  // so many were in it at the last one, if it has not begun anew since
  int copied_ = 0;         // of these
  std::optional<std::chrono::steady_clock::time_point> told_of_log_;
  std::string instant_;         // of all that one transaction does
  bool waited_long_ = false;    // for the lock
  bool waited_before_ = false;  // when the same was asked with others
  hint made_work_;
  sluice::durability durability_ = durability::volatile_;
  std::once_flag checks_;
  std::string found_;  // by the check, when `has_found_`
  std::atomic<bool> has_found_{false};
  std::jthread checking_;
};

}  // namespace

result<std::unique_ptr<store>> open(place where, open_mode mode, const clock& clock, const machine::library& known) {
  auto made = std::make_unique<sqlite_store>(std::move(where), mode, clock, known);
  if (auto opened = made->open(); !opened) return opened.error();
  return std::unique_ptr<store>(std::move(made));
}

result<raising> raise_layout(place where, const clock& clock, const machine::library& known) {
  return sqlite_store(std::move(where), open_mode::must_exist, clock, known).raise_layout();
}

}  // namespace sluice::storage::sqlite
