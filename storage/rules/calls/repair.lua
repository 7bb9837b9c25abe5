-- Looks at a slice as `audit` does, and mends what is wrong in the same step, by what else is stored: an end that
-- somebody was not told of is owed again, and goes the way of all ends (continuations.lua).
-- ARGV as of audit; [3]: what mending.lua has rules for, in the order of machine/audit.cpp.
-- Answer: the cursor; what was wrong; an empty list; of each finding what was done, or empty.
-- Asked again it finds nothing but what another rule has to mend, later in that order or in the next pass.
function calls.repair(step)
  return repairing.repair_slice(step)
end
