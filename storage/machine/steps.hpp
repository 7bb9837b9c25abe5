// What the transitions of one batch share: each sends its calls, and reads its own answer when it comes. A store says
// when that is: at once, or when all of the batch were sent.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sluice/error.hpp>

#include "storage/hint.hpp"
#include "storage/machine/call.hpp"
#include "storage/machine/reply.hpp"

namespace sluice::storage::machine {

class steps {
public:
  virtual ~steps() = default;

  // `read` is given the answer, or `failed` what went wrong instead: unknown_outcome when it may have happened. One of
  // them is called, once, before the store answers the batch.
  virtual void send(call c, std::function<void(const item&)> read, std::function<void(const error&)> failed) = 0;

  hint made_work;  // what this process should look for

  // Records that could not be read, as they stood; they are put aside when the batch is over.
  struct broken_record {
    std::string id, record, history;
  };
  std::vector<broken_record> broken;
};

}  // namespace sluice::storage::machine
