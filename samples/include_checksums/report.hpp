// What the sample shows: a table per queue while it runs, and how long jobs waited at the end.
#pragma once

#include <string>
#include <vector>

#include <sluice/job.hpp>

namespace sample {

// Redrawn in place on a terminal, else one block now and then.
void show_queues(const std::vector<sluice::queue_counts>& queues, double seconds, bool redraw);

// How long the light jobs waited, measured, and what they would have waited had the same jobs (with
// the times that they took) shared one pool of the same number of workers, heavy ones first in line.
void show_waits(const std::vector<sluice::job>& done, unsigned light_workers, unsigned heavy_workers);

}  // namespace sample
