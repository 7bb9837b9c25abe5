// What scripts run on, in memory and alone.
#pragma once

#include <memory>
#include <string>

#include "storage/sqlite/keyspace.hpp"
#include "storage/sqlite/schema.hpp"

namespace sluice::test {

struct keyspace_world {
  storage::sqlite::database db{":memory:"};
  std::unique_ptr<storage::sqlite::keyspace> keys;

  explicit keyspace_world(const std::string& prefix) {
    storage::sqlite::make_tables(db);
    keys = std::make_unique<storage::sqlite::keyspace>(db, prefix);
  }

  // For one script, in a transaction.
  void begin(bool may_write = true) {
    db.execute("BEGIN IMMEDIATE");
    keys->begin();
    keys->begin_call(may_write);
  }
  void commit() {
    keys->flush();
    db.execute("COMMIT");
  }
};

}  // namespace sluice::test
