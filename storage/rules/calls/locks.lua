-- A page of the locks that are held, those first whose leases end first.
local int_text = base.int_text

function by_name.locks(step, asked)
  local score, id = paging.behind(asked)
  if score and score <= step.now then score = nil end  -- all up to there have ended, and there may be many
  local held = paging.page(step.keys.lock_ends, false, '(' .. step.now_text, '+inf', score, id, asked.limit + 1, 1)
  local locks, ended_at = paging.rows({held}, asked, function(p)
    local left = p.score - step.now
    if left <= 0 then return nil end  -- others have ended since the page before
    local l = values.read_lock(call('HGET', step.keys.locks, p.id)) or {}
    return {resource = p.id, now = {fence = l.fence, holder = l.holder, ['until'] = paging.exact(p.score),
                                    left = int_text(math.min(left, base.longest))}}
  end)
  return {page = {locks = locks, next = ended_at}}
end
