-- Every key that there is, but for those of one queue (lines.lua) and the first two (basics.lua). What stands in each:
-- docs/store_layout.md.
local jobs = P .. ':jobs'              -- hash: id -> record, as the enqueuer sent it (core/codec)
local history = P .. ':history'              -- hash: id -> what has happened to the job so far, once something has
local runs = P .. ':runs'              -- hash: id -> the run that runs now
local quarantine = P .. ':quarantine'  -- hash: id -> bytes that could not be read
local queues = P .. ':queues'          -- set: every queue that was used within a week
local paused = P .. ':paused'          -- set: queues that start nothing
local claims = P .. ':claims'          -- hash: "slot ", queue as "length:bytes", server -> the last op that got some
local servers = P .. ':servers'        -- hash: id -> what a server said of itself, last beat first
local due = P .. ':due'                -- sorted set: queue -> the earliest instant in its scheduled line
local ending = P .. ':ending'          -- sorted set: queue -> no later than the first end of its leases
-- Throttlers.
local admission = P .. ':admission'      -- hash: id -> what a job has of throttlers, and where it waits for one
local limits = P .. ':limits'            -- hash: resource -> its permits, where a definition says so
local definitions = P .. ':definitions'  -- hash: resource -> its definition
local configs = P .. ':configs'          -- hash: resource -> the text of the configuration that was applied last
local limiters = P .. ':limiters'        -- hash: limiter -> "version length:state"
local claim_permits = P .. ':claim_permits'  -- hash: resource or chain -> how many runs took it with their claim
local turns = P .. ':turns'            -- hash: queue, as "length:bytes", and resource -> whose turn it is (chains.lua)
local busy = P .. ':busy'                -- sorted set: resources with holders, by name
local waiting = P .. ':waiting'          -- sorted set: resources with waiters, by name
local reserved = P .. ':reserved'        -- sorted set: resource, as "length:bytes", and id -> since when it is reserved
local next_checks = P .. ':next_checks'  -- sorted set: a line's resource -> the instant at which to look at it again
local served = P .. ':served'            -- sorted set: queue -> the instant until which it counts as served
-- What jobs have to do with others, and with time (flow_rows.lua).
local flow = P .. ':flow'              -- hash: id -> what a job has to do with others
local held_keys = P .. ':keys'         -- hash: unique key -> who has it (unique_keys.lua)
local group_counts = P .. ':groups'    -- hash: group -> how many of its members have ended (groups.lua)
local agenda = P .. ':agenda'          -- sorted set: what a step left undone -> the instant from which on it is to be done
-- Locks.
local locks = P .. ':locks'            -- hash: resource -> "fence lease ", the token as "length:bytes", and the holder
local lock_ends = P .. ':lock_ends'    -- sorted set: resource -> the instant at which its lease is over
-- Recurring jobs; schedule_view.lua says what stands in the values.
local schedules = P .. ':schedules'      -- hash: name -> a schedule
local schedule_names = P .. ':schedule_names'  -- sorted set: schedules, by name
local firing = P .. ':firing'            -- sorted set: name -> the instant at which the schedule is due next
local even_places = P .. ':places'     -- hash: name -> the part of its minute that an evenly staggered one keeps
-- How much was done (totals.lua), by queue; in lists under the empty name by all together, too.
local totals = P .. ':totals'                -- hash: queue -> the minute of its last change, and its totals since ever
local totals_before = P .. ':totals_before'  -- hash: queue -> what they were when that minute began, and its hour
local total_sizes = P .. ':total_sizes'      -- hash: a list of minutes or hours -> about how many bytes it has
local kept_bytes = P .. ':kept_bytes'        -- hash: KIND:QUEUE of ended or unreadable jobs -> what these weigh
local operator_log = P .. ':operator_log'              -- sorted set: what people did (records.lua) -> its number, which grows
local channel = P .. ':work'           -- told who may have work: who asked, and a hint as `finish` has it

-- Who has a permit of a resource, but for those in `claim_permits`: hash: id -> "kind fence since". Resources hold any
-- bytes.
local function holders(resource) return P .. ':holders:' .. resource end
-- Who waits for it: a sorted set of ids for each queue, by the number of their first parking; and the set of queues.
local function wait_line(queue, resource) return P .. ':wait:' .. queue .. '/' .. resource end
local function waits(resource) return P .. ':waits:' .. resource end
-- The children of a job or a group, and the members of a group: sorted sets of ids.
local function after(parent) return P .. ':after:' .. parent end
local function members(group) return P .. ':members:' .. group end
-- Totals of a number of minutes, or hours, for each queue: of one hour since 1970, or of one day.
local function total_list(kind, slot) return P .. ':' .. kind .. ':' .. int_text(slot) end
