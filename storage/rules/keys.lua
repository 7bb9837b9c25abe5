-- Every key that there is, but for those of one queue (places.lua): what it is called here, and in the store behind the
-- prefix. What stands in each: docs/store_layout.md.
keys.names = {
  schema = ':schema',                 -- the layout of what is stored
  number_key = ':number',             -- the last fence or place that was drawn
  flow_mark = ':flow_mark',           -- there when jobs wait for others, so that those that do not pay nothing
  jobs = ':jobs',                   -- hash: id -> record, as the enqueuer sent it (core/codec)
  history = ':history',             -- hash: id -> what has happened to the job so far, once something has
  runs = ':runs',                   -- hash: id -> the run that runs now
  quarantine = ':quarantine',       -- hash: id -> bytes that could not be read
  queues = ':queues',               -- set: every queue that was used within a week
  paused = ':paused',               -- set: queues that start nothing
  claims = ':claims',               -- hash: "slot ", queue as "length:bytes", server -> the last op that got some
  servers = ':servers',             -- hash: id -> what a server said of itself, last beat first
  due = ':due',                     -- sorted set: queue -> the earliest instant in its scheduled line
  ending = ':ending',               -- sorted set: queue -> no later than the first end of its leases
  -- Throttlers.
  admission = ':admission',         -- hash: id -> what a job has of throttlers, and where it waits for one
  limits = ':limits',               -- hash: resource -> its permits, where a definition says so
  definitions = ':definitions',     -- hash: resource -> its definition
  configs = ':configs',             -- hash: resource -> the text of the configuration that was applied last
  limiters = ':limiters',           -- hash: limiter -> "version length:state"
  claim_permits = ':claim_permits', -- hash: resource or chain -> how many runs took it with their claim
  turns = ':turns',                 -- hash: queue, as "length:bytes", and resource -> whose turn it is (chaining.lua)
  busy = ':busy',                   -- sorted set: resources with holders, by name
  waiting = ':waiting',             -- sorted set: resources with waiters, by name
  reserved = ':reserved',           -- sorted set: resource, as "length:bytes", and id -> since when it is reserved
  next_checks = ':next_checks',     -- sorted set: a line's resource -> the instant at which to look at it again
  served = ':served',               -- sorted set: queue -> the instant until which it counts as served
  -- What jobs have to do with others, and with time (flow.lua).
  flow = ':flow',                   -- hash: id -> what a job has to do with others
  held_keys = ':keys',              -- hash: unique key -> who has it (unique_keys.lua)
  group_counts = ':groups',         -- hash: group -> how many of its members have ended (groups.lua)
  agenda = ':agenda',               -- sorted set: what a step left undone -> the instant from which on it is to be done
  -- Locks.
  locks = ':locks',                 -- hash: resource -> "fence lease ", the token as "length:bytes", and the holder
  lock_ends = ':lock_ends',         -- sorted set: resource -> the instant at which its lease is over
  -- Recurring jobs; schedule_views.lua says what stands in the values.
  schedules = ':schedules',         -- hash: name -> a schedule
  schedule_names = ':schedule_names',-- sorted set: schedules, by name
  firing = ':firing',               -- sorted set: name -> the instant at which the schedule is due next
  even_places = ':places',          -- hash: name -> the part of its minute that an evenly staggered one keeps
  -- How much was done (totals.lua), by queue; in lists under the empty name by all together, too.
  totals = ':totals',               -- hash: queue -> the minute of its last change, and its totals since ever
  totals_before = ':totals_before', -- hash: queue -> what they were when that minute began, and its hour
  total_sizes = ':total_sizes',     -- hash: a list of minutes or hours -> about how many bytes it has
  kept_bytes = ':kept_bytes',       -- hash: KIND:QUEUE of ended or unreadable jobs -> what these weigh
  operator_log = ':operator_log',   -- sorted set: what people did (values.lua) -> its number, which grows
  channel = ':work',                -- told who may have work: who asked, and a hint as `finish` has it
}

-- Who has a permit of a resource, but for those in `claim_permits`: hash: id -> "kind fence since". Resources hold any
-- bytes.
function keys.holders(step, resource) return step.prefix .. ':holders:' .. resource end
-- Who waits for it: a sorted set of ids for each queue, by the number of their first parking; and the set of queues.
function keys.wait_line(step, queue, resource) return step.prefix .. ':wait:' .. queue .. '/' .. resource end
function keys.waits(step, resource) return step.prefix .. ':waits:' .. resource end
-- The children of a job or a group, and the members of a group: sorted sets of ids.
function keys.after(step, parent) return step.prefix .. ':after:' .. parent end
function keys.members(step, group) return step.prefix .. ':members:' .. group end
-- Totals of a number of minutes, or hours, for each queue: of one hour since 1970, or of one day.
function keys.total_list(step, kind, slot) return step.prefix .. ':' .. kind .. ':' .. base.int_text(slot) end
