#include "storage/frail_disk.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace sluice::test {
namespace {

constexpr std::size_t sector = 512;

void put(std::string& into, std::size_t at, std::string_view bytes) {
  if (into.size() < at + bytes.size()) into.resize(at + bytes.size());
  into.replace(at, bytes.size(), bytes);
}

}  // namespace

// What SQLite holds of an open file; the real one's stands behind it.
struct frail_disk::file {
  sqlite3_file base;
  frail_disk* disk;
  contents* kept;  // null for a file without a name

  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

struct frail_disk::methods {
  static file* of(sqlite3_file* f) { return reinterpret_cast<file*>(f); }
  static sqlite3_file* real(sqlite3_file* f) { return of(f)->real(); }

  static int close(sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); }

  static int read(sqlite3_file* f, void* into, int size, sqlite3_int64 at) {
    if (of(f)->disk->meets(disk_fault::read_fails)) return SQLITE_IOERR_READ;
    return real(f)->pMethods->xRead(real(f), into, size, at);
  }

  static int write(sqlite3_file* f, const void* from, int size, sqlite3_int64 at) {
    auto& disk = *of(f)->disk;
    if (!of(f)->kept) return real(f)->pMethods->xWrite(real(f), from, size, at);
    const auto keep = [&](int bytes) {
      const int code = real(f)->pMethods->xWrite(real(f), from, bytes, at);
      of(f)->kept->since.push_back(
          {static_cast<std::size_t>(at), {static_cast<const char*>(from), std::size_t(bytes)}});
      return code;
    };
    if (disk.is_dead_ || disk.meets(disk_fault::write_fails)) return SQLITE_IOERR_WRITE;
    if (disk.meets(disk_fault::half_written)) return keep(size / 2), SQLITE_IOERR_WRITE;
    if (disk.meets(disk_fault::no_room_in_half)) return keep(size / 2), SQLITE_FULL;
    const int code = keep(size);
    if (disk.meets(disk_fault::power_fails)) {
      disk.is_dead_ = true;
      return SQLITE_IOERR_WRITE;
    }
    return code;
  }

  static int truncate(sqlite3_file* f, sqlite3_int64 size) {
    if (of(f)->disk->is_dead_) return SQLITE_IOERR_TRUNCATE;
    if (of(f)->kept) of(f)->kept->since.push_back({static_cast<std::size_t>(size), {}, true});
    return real(f)->pMethods->xTruncate(real(f), size);
  }

  static int sync(sqlite3_file* f, int) {
    auto& disk = *of(f)->disk;
    if (!of(f)->kept) return SQLITE_OK;
    if (disk.meets(disk_fault::power_fails)) disk.is_dead_ = true;
    if (disk.is_dead_) return SQLITE_IOERR_FSYNC;
    auto& kept = *of(f)->kept;
    const bool fails = disk.meets(disk_fault::sync_fails);
    for (const auto& one : kept.since) {
      if (fails) break;
      if (one.is_end) kept.synced.resize(one.at);
      else put(kept.synced, one.at, one.bytes);
    }
    kept.since.clear();
    return fails ? SQLITE_IOERR_FSYNC : SQLITE_OK;
  }

  static int size(sqlite3_file* f, sqlite3_int64* into) { return real(f)->pMethods->xFileSize(real(f), into); }
  static int lock(sqlite3_file* f, int how) { return real(f)->pMethods->xLock(real(f), how); }
  static int unlock(sqlite3_file* f, int how) { return real(f)->pMethods->xUnlock(real(f), how); }
  static int is_reserved(sqlite3_file* f, int* into) { return real(f)->pMethods->xCheckReservedLock(real(f), into); }
  static int control(sqlite3_file* f, int what, void* with) {
    return real(f)->pMethods->xFileControl(real(f), what, with);
  }
  static int sector_size(sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); }
  static int kind(sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); }
  static int map_shared(sqlite3_file* f, int region, int size, int extend, void volatile** into) {
    return real(f)->pMethods->xShmMap(real(f), region, size, extend, into);
  }
  static int lock_shared(sqlite3_file* f, int offset, int n, int flags) {
    return real(f)->pMethods->xShmLock(real(f), offset, n, flags);
  }
  static void shared_barrier(sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); }
  static int unmap_shared(sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* f, int flags, int* got) {
    static const sqlite3_io_methods all = {
        2,       close,       read, write,      truncate,    sync,           size,         lock,    unlock, is_reserved,
        control, sector_size, kind, map_shared, lock_shared, shared_barrier, unmap_shared, nullptr, nullptr};
    auto& disk = *static_cast<frail_disk*>(vfs->pAppData);
    auto* made = of(f);
    *made = {};
    if (disk.is_dead_) return SQLITE_CANTOPEN;
    const int code = disk.real_->xOpen(disk.real_, name, made->real(), flags, got);
    made->disk = &disk;
    if (made->real()->pMethods) made->base.pMethods = &all;
    if (code != SQLITE_OK || !name) return code;
    auto& kept = disk.files_[name];
    if (!kept) {
      std::ifstream in(name, std::ios::binary);
      kept = std::make_shared<contents>(contents{{std::istreambuf_iterator<char>(in), {}}, {}});
    }
    made->kept = kept.get();
    return code;
  }

  static int remove(sqlite3_vfs* vfs, const char* name, int sync_folder) {
    auto& disk = *static_cast<frail_disk*>(vfs->pAppData);
    if (disk.is_dead_) return SQLITE_IOERR_DELETE;
    disk.files_.erase(name);
    return disk.real_->xDelete(disk.real_, name, sync_folder);
  }
};

frail_disk::frail_disk() : real_(sqlite3_vfs_find(nullptr)), own_(*real_) {
  own_.zName = "frail";
  own_.pAppData = this;
  own_.szOsFile = static_cast<int>(sizeof(file)) + real_->szOsFile;
  own_.xOpen = methods::open;
  own_.xDelete = methods::remove;
  if (sqlite3_vfs_register(&own_, 1) != SQLITE_OK) throw std::runtime_error("SQLite takes no disk");
}

frail_disk::~frail_disk() { sqlite3_vfs_unregister(&own_); }

void frail_disk::fail(disk_fault what, int nth, int times) {
  fault_ = what;
  until_ = nth;
  times_ = times;
  failed_ = 0;
}

bool frail_disk::meets(disk_fault what) {
  if (is_dead_) return what != disk_fault::power_fails;
  if (what != fault_ || times_ == 0 || --until_ > 0) return false;
  --times_;
  ++failed_;
  return true;
}

void frail_disk::restart(std::mt19937& random, unsigned percent_kept) {
  for (auto& [name, kept] : files_) {
    for (const auto& one : kept->since) {
      const auto is_kept = [&] { return random() % 100 < percent_kept; };
      if (one.is_end && is_kept()) kept->synced.resize(one.at);
      for (std::size_t from = 0; from < one.bytes.size();) {
        const auto size = std::min(one.bytes.size() - from, sector - (one.at + from) % sector);
        if (is_kept()) put(kept->synced, one.at + from, std::string_view(one.bytes).substr(from, size));
        from += size;
      }
    }
    kept->since.clear();
    std::ofstream(name, std::ios::binary | std::ios::trunc) << kept->synced;
  }
  times_ = failed_ = 0;
  is_dead_ = false;
}

}  // namespace sluice::test
