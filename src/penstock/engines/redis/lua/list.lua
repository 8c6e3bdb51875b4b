#!lua flags=no-writes
-- One look at the jobs that match, newest first: so many are looked at, and no more.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 id after which to look, or ''; 3 how many at most; 4 states (letters); 5 queue or ''; 6 task or '';
--      7 owner or ''; 8 key or ''; 9 created since and 10 until (us) or ''; 11 parked: '1', '0' or ''; 12 '1': with payloads
-- Returns id after which to look next, or '' where nothing is left; then for each id, and what get.lua returns
--@ _keys
--@ _base
--@ _run
--@ _more
--@ _lines
--@ _newest
--@ _by_word
--@ _bare
local FEW = 1000
local MOST_BYTES = 4 * 1048576
local after, limit, states, queue, task = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local since, till = tonumber(ARGV[9]), tonumber(ARGV[10])

local function wanted(state) return states:find(state, 1, true) ~= nil end

local function sorted(ids)
  local rest = {}
  for _, id in ipairs(ids) do
    if after == '' or id < after then rest[#rest + 1] = id end
  end
  table.sort(rest, function(a, b) return a > b end)
  return rest, false
end

local function gathered(command, keys, ...)
  local ids = {}
  for _, key in ipairs(keys) do
    for _, id in ipairs(call(command, key, ...)) do ids[#ids + 1] = id end
  end
  return sorted(ids)
end

local function held()
  local keys = call('ZRANGE', p .. 'workers', 0, -1)
  for i, worker in ipairs(keys) do keys[i] = p .. 'held:' .. worker end
  return keys
end

-- The lanes where what waits can be found, if all of it is there and it is little.
local function short_lanes()
  local keys, standing, counted = {}, 0, 0
  local counts = call('HGETALL', p .. 'counts')
  for i = 1, #counts, 2 do
    local its_queue = counts[i]:match('^(.*):waiting$')
    if its_queue and (queue == '' or queue == its_queue) then
      counted = counted + counts[i + 1]
      keys[#keys + 1] = p .. 'lane:' .. its_queue
    end
  end
  for _, lane in ipairs(call('HKEYS', p .. 'lanes')) do
    local its_queue = lane:match('^([^?]*)')
    if queue == '' or queue == its_queue then keys[#keys + 1] = p .. 'lane:' .. lane end
  end
  for _, key in ipairs(keys) do standing = standing + call('ZCARD', key) end
  return standing == counted and standing <= FEW and keys
end

local function by_kind()
  local keys = {}
  for _, kind in ipairs(kinds_of(queue, task)) do
    if wanted('w') or wanted('d') or wanted('b') or wanted('a') then keys[#keys + 1] = p .. 'live:' .. kind end
    if wanted('c') then keys[#keys + 1] = p .. 'done:' .. kind end
    if wanted('f') or wanted('x') then keys[#keys + 1] = p .. 'bad:' .. kind end
  end
  local some = share(#keys)
  local ids = newest(keys, after, some)
  return ids, #ids == some
end

local function candidates()
  if ARGV[8] ~= '' then return by_word(p .. 'bykey', ARGV[8], after) end
  if ARGV[7] ~= '' then return by_word(p .. 'owners', ARGV[7], after) end
  if states == 'a' then return gathered('SMEMBERS', held()) end
  if states == 'd' and call('ZCARD', p .. 'delayed') <= FEW then
    return gathered('ZRANGE', { p .. 'delayed' }, 0, -1)
  end
  if states == 'b' and call('HLEN', BLOCKED) <= FEW then return gathered('HKEYS', { BLOCKED }) end
  local lanes = states == 'w' and short_lanes()
  if lanes then return gathered('ZRANGE', lanes, 0, -1) end
  return by_kind()
end

local function is_parked(base, run)
  local lane = run and read_run(run).lane or ''
  if lane == '' then lane = base.lane end
  return lane:find('?', 1, true) ~= nil
end

local function matches(base, run, state)
  if not wanted(state) then return false end
  if queue ~= '' and base.queue ~= queue then return false end
  if task ~= '' and sub(base.kind, #base.queue + 2) ~= task then return false end
  if ARGV[7] ~= '' and base.owner ~= ARGV[7] then return false end
  if since and base.created < since or till and base.created >= till then return false end
  if ARGV[11] == '' then return true end
  return (state == 'w' and is_parked(base, run)) == (ARGV[11] == '1')
end

local ids, more = candidates()
local answer, last, bytes = { '' }, '', 0
for i, id in ipairs(ids) do
  local raw, run = call('HGET', JOBS, id), call('HGET', RUNS, id)
  if raw then
    local state = state_of(id, run)
    local base = read_base(raw)
    if matches(base, run, state) then
      local shown = ARGV[12] == '1' and raw or without_payload(raw, base)
      for _, value in ipairs({ id, shown, run or '', state, told_of(id, raw) }) do answer[#answer + 1] = value end
    end
    bytes = bytes + #raw + (run and #run or 0)
  end
  last = id
  if #answer > 5 * limit or bytes > MOST_BYTES then
    more = more or i < #ids
    break
  end
end
answer[1] = more and last or ''
return answer
