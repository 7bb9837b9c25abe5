#include "core/text.hpp"
#include "storage/sqlite/admission.hpp"
#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr int most_findings = 1'000;

// Adds a sentence for each row: its first column, then what is wrong with it.
void each_row(session& s, const std::string& sql, const char* before, const char* wrong,
              std::vector<std::string>& into) {
  auto q = s.db.prepare((sql + " LIMIT " + std::to_string(most_findings)).c_str());
  while (q.step())
    into.push_back(cat(before, printable(q.text(0), 200), wrong));
}

void count_holders(session& s, std::vector<std::string>& into) {
  std::map<std::string, std::int64_t> n;
  {
    auto q =
        s.db.prepare("SELECT resource,count(*) FROM permits GROUP BY resource UNION ALL SELECT resource,-n FROM held");
    while (q.step())
      n[q.text(0)] += q.number(1);
  }
  {
    auto q = s.db.prepare("SELECT took FROM jobs WHERE took<>x''");
    while (q.step())
      for (const auto& resource : read_took(q.text(0)))
        ++n[resource];
  }
  for (const auto& [resource, surplus] : n)
    if (surplus != 0)
      into.push_back(cat("the number of permits of ", printable(resource, 200), " is not that of its holders"));
}

}  // namespace

std::vector<std::string> audit(session& s) {
  std::vector<std::string> found;
  {
    auto q = s.db.prepare("PRAGMA integrity_check(100)");
    while (q.step())
      if (q.text(0) != "ok") found.push_back(cat("the file: ", printable(q.text(0), 300)));
  }
  each_row(s, "SELECT id FROM jobs WHERE line NOT IN (SELECT id FROM lines)", "job ", " is in no line", found);
  each_row(s, "SELECT id FROM jobs WHERE state NOT BETWEEN 1 AND 8", "job ", " is in no state", found);
  each_row(s, "SELECT id FROM jobs WHERE state=5 AND (server='' OR fence=0 OR pos=0 OR lease=0)", "job ",
           " is processing without a lease", found);
  each_row(s, "SELECT id FROM jobs WHERE fence>(SELECT last FROM numbers)", "job ", " has a fence that was never drawn",
           found);
  each_row(s, "SELECT resource FROM locks WHERE fence>(SELECT last FROM numbers)", "lock ",
           " has a fence that was never drawn", found);
  each_row(s, "SELECT j.id FROM jobs j LEFT JOIN parked p ON p.seq=j.seq WHERE (j.state=4)<>(p.seq IS NOT NULL)",
           "job ", " waits for a throttler and stands in no line, or the other way round", found);
  each_row(s, "SELECT resource FROM parked WHERE seq NOT IN (SELECT seq FROM jobs)", "the line of ",
           " holds a job that is not there", found);
  each_row(s,
           "SELECT p.resource FROM permits p LEFT JOIN jobs j ON j.seq=p.seq WHERE j.seq IS NULL OR j.state>5 OR "
           "(p.kind=0 AND (j.state<>5 OR j.fence<>p.fence)) OR (p.kind=2 AND j.state<>1)",
           "", " is held by a job that has no right to it", found);
  count_holders(s, found);
  each_row(s, "SELECT id FROM jobs WHERE state<>5 AND took<>x''", "job ", " has permits of a start that has ended",
           found);
  each_row(
      s,
      "SELECT seq FROM (SELECT seq FROM permits UNION SELECT seq FROM slots UNION SELECT seq FROM parked) WHERE seq "
      "NOT IN (SELECT seq FROM admissions)",
      "job number ", " has to do with a throttler and is not listed so", found);
  each_row(s, "SELECT schedule FROM schedule_runs WHERE schedule NOT IN (SELECT name FROM schedules)", "schedule ",
           " has jobs but is not there", found);
  each_row(s, "SELECT l.queue FROM lines l LEFT JOIN queues q ON q.name=l.queue WHERE q.name IS NULL", "queue ",
           " has lines but is not known", found);
  each_row(
      s,
      "SELECT line||' in state '||state FROM (SELECT state,line,sum(n) AS n FROM (SELECT state,line,-count(*) AS n "
      "FROM jobs "
      "GROUP BY state,line UNION ALL SELECT state,line,n FROM counts WHERE state BETWEEN 1 AND 8) GROUP BY state,line) "
      "WHERE n<>0",
      "the count of line ", " is not the number of its jobs", found);
  return found;
}

}  // namespace sluice::storage::sqlite
