-- Pages of what stands in sorted sets, in one order, each behind a score and a member at which the page before ended.

function paging.exact(score) return format('%.17g', score) end

local function goes_first(a, b)
  if a.newest_first then a, b = b, a end
  return a.score < b.score or (a.score == b.score and lists.by_bytes(a.id, b.id))
end

-- Makes the next member of a set its `id`, with its `score`, as text in `place`; the set is read some at a time. No id:
-- there is none.
local function advance(p)
  repeat
    p.at = p.at + 2
    if p.at > #p.part then
      if p.ended then p.id = nil return end
      if p.newest_first then
        p.part = call('ZRANGE', p.key, p.to, p.from, 'BYSCORE', 'REV', 'LIMIT', p.offset, p.some, 'WITHSCORES')
      else
        p.part = call('ZRANGE', p.key, p.from, p.to, 'BYSCORE', 'LIMIT', p.offset, p.some, 'WITHSCORES')
      end
      p.at, p.offset, p.ended = 1, p.offset + p.some, #p.part < 2 * p.some
      p.some = math.min(2 * p.some, p.most)
      if #p.part == 0 then p.id = nil return end
    end
    p.id, p.place = p.part[p.at], p.part[p.at + 1]
    p.score = tonumber(p.place)
    local first, second = p.after_id, p.id
    if p.newest_first then first, second = second, first end
  until p.after_score ~= p.score or lists.by_bytes(first, second)
end

-- Of a sorted set the members from one score to another, as ZRANGE takes them, behind `after_score` and `after_id`,
-- when there is such a score. At most `most` are wanted from `sets` of them together.
function paging.page(key, newest_first, from, to, after_score, after_id, most, sets)
  if after_score and newest_first then to = paging.exact(after_score)
  elseif after_score then from = paging.exact(after_score) end
  local p = {key = key, newest_first = newest_first, from = from, to = to, after_score = after_score,
             after_id = after_id, most = most, some = math.min(math.max(8, math.ceil(most / sets)), most),
             offset = 0, part = {}, at = 0}
  advance(p)
  return p
end

-- Several pages as one, as a heap: that whose member goes first stands first.
local function sink(pages, i)
  while true do
    local first = i
    for below = 2 * i, math.min(2 * i + 1, #pages) do
      if goes_first(pages[below], pages[first]) then first = below end
    end
    if first == i then return end
    pages[i], pages[first] = pages[first], pages[i]
    i = first
  end
end
function paging.merged(pages)
  local full = {}
  for _, p in ipairs(pages) do
    if p.id then full[#full + 1] = p end
  end
  for i = math.floor(#full / 2), 1, -1 do sink(full, i) end
  return full
end
function paging.go_on(pages)
  advance(pages[1])
  if not pages[1].id then
    pages[1] = pages[#pages]
    pages[#pages] = nil
  end
  sink(pages, 1)
end

-- Where a page ended, and behind where one begins; nothing for the first page.
function paging.place(score, id) return paging.exact(score) .. '-' .. id end
function paging.behind(asked)
  local after = asked.after or {}
  return tonumber(after.score), after.id
end
-- Answers at most as many rows as are asked for, and where they ended when there are more. `row` makes one of the first
-- of these pages, or nothing of it, and may say another id for its place.
function paging.rows(pages, asked, row)
  local rows, last = {}, nil
  pages = paging.merged(pages)
  while #pages > 0 do
    local one, id = row(pages[1])
    if one and #rows == asked.limit then return rows, last end
    if one then rows[#rows + 1], last = one, paging.place(pages[1].score, id or pages[1].id) end
    paging.go_on(pages)
  end
  return rows
end
