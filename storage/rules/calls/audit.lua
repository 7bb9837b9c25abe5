-- Looks at a slice of what is stored; in one step, so that nothing that moves meanwhile looks wrong. Changes nothing.
-- The rules whose findings `repair` can mend stand in mending.lua.
-- ARGV[3]: what is looked at: all at first, then whatever an answer named; [4]: its key, as it was named; [5]: 0, then
-- the cursor of the last answer; [6]: about how many are looked at.
-- Answer: the cursor, 0 at the end; what is wrong, as sentences; what is to be looked at besides, each as what and key.
-- Each of them costs the same however much is stored, but for `claim_permits`, which are held against all that runs.
function calls.audit(step)
  return auditing.audit_slice(step)
end
