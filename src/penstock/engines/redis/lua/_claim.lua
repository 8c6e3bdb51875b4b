-- Taking jobs: lane by lane, first in rank over all lanes.
local MOST_BYTES = 4 * 1048576 -- of payload in one answer, give or take a part

local function is_alive(worker, now)
  local till = call('ZSCORE', p .. 'workers', worker)
  return till and tonumber(till) > now
end

-- `tasks` names each task the worker knows and its signature: \1 task \0 signature, and \1 at the end.
-- `misfits` are the signatures that did not fit: v1,v2.
local function can_run(tasks, task, misfits)
  local from, to = tasks:find('\1' .. task .. '\0', 1, true)
  if not from then return false end
  local signature = sub(tasks, to + 1, tasks:find('\1', to, true) - 1)
  return not (',' .. misfits .. ','):find(',' .. signature .. ',', 1, true)
end

-- The open lanes of the wanted queues, and what is parked there for a worker such as this one; and whether there are
-- limits in any of them.
local function lanes_for(most, tasks)
  local lanes, queues, fair = {}, {}, false
  for queue in pairs(most) do queues[#queues + 1] = queue end
  if #queues == 0 then return lanes, fair end
  learn_grouped(queues)
  for i, paused in ipairs(values(p .. 'queues', queues)) do
    local queue = queues[i]
    if paused == '1' then
      most[queue] = nil
    else
      lanes[#lanes + 1] = { key = p .. 'lane:' .. queue, queue = queue, started = 0 }
      fair = fair or grouped[queue]
    end
  end
  for _, lane in ipairs(call('HKEYS', p .. 'lanes')) do
    local queue, task, misfits = lane:match('^([^?]*)%?([^?]*)%??(.*)$')
    if queue and most[queue] and can_run(tasks, task, misfits) then
      lanes[#lanes + 1] = { key = p .. 'lane:' .. lane, queue = queue, started = 0 }
    end
  end
  return lanes, fair
end

local function before(one, other)
  local a, b = one.ranks[one.next], other.ranks[other.next]
  return a < b or a == b and one.ids[one.next] < other.ids[other.next]
end

-- The first of several lanes over and over; `most` bounds each queue. Ids, and the lane of each.
local function merged(lanes, most, limit)
  local ids, from, taken = {}, {}, {}
  while #ids < limit do
    local first
    for _, lane in ipairs(lanes) do
      if lane.ids[lane.next] and (taken[lane.queue] or 0) < most[lane.queue] and (not first or before(lane, first)) then
        first = lane
      end
    end
    if not first then break end
    ids[#ids + 1], from[#from + 1] = first.ids[first.next], first
    first.next = first.next + 1
    taken[first.queue] = (taken[first.queue] or 0) + 1
  end
  return ids, from
end

-- The first of a lane. What came too late stands at its very end, with no rank at all, for the sweep.
local function head_of(lane, some, alone)
  if alone then
    lane.ids = call('ZRANGEBYSCORE', lane.key, '-inf', '(+inf', 'LIMIT', 0, some)
    return
  end
  local found = call('ZRANGEBYSCORE', lane.key, '-inf', '(+inf', 'WITHSCORES', 'LIMIT', 0, some)
  lane.ids, lane.ranks, lane.next = {}, {}, 1
  for i = 1, #found, 2 do
    lane.ids[#lane.ids + 1], lane.ranks[#lane.ranks + 1] = found[i], tonumber(found[i + 1])
  end
end

-- Who is first in rank: ids, and the lane of each (one for all, where all come from one).
local function candidates(lanes, most, limit)
  local open = {}
  for _, lane in ipairs(lanes) do
    lane.used = 0
    if most[lane.queue] > 0 and (#lanes == 1 or call('EXISTS', lane.key) == 1) then open[#open + 1] = lane end
  end
  for _, lane in ipairs(open) do head_of(lane, math.min(most[lane.queue], limit), #open == 1) end
  if #open == 1 then return open[1].ids, nil, open[1] end
  return merged(open, most, limit)
end

local function tail_of(base, want)
  local low, high = byte(base, 23, 24)
  local name = sub(base, 17, 24 + low + 256 * high)
  local tail = want.tails[name]
  if not tail then
    tail = run_tail(base, want.worker, want.request)
    want.tails[name] = tail
  end
  return tail
end

-- What is told of a claim besides its base. Flags: 1 suspect, 2 it tries a breaker.
local function told_again(attempt, suspect, probe, crashes, due)
  return struct.pack('<HBHd', attempt, (suspect and 1 or 0) + (probe and 2 or 0), crashes, due)
end

local function next_run(raw, base, want, token, now, probe)
  local run = read_run(raw)
  local due = run.due > 0 and run.due or struct.unpack('<d', base, 9)
  run.state, run.attempt, run.claimed, run.token = 'a', run.attempt + 1, now, token
  run.worker, run.request = want.worker, want.request
  if run.started == 0 then run.started = now end
  return write_run(run), told_again(run.attempt, run.suspect, probe, run.crashes, due) .. run.lane
end

-- Whether the job may begin: not when it has passed its own expiry.
local function in_time(id, base, now)
  if not has(byte(base, 17), EXPIRES) then return true end
  if read_base(base).expires <= now then return false end
  call('ZREM', p .. 'expiring', id)
  return true
end

local function start(id, base, run, want, now, probe)
  if has(byte(base, 17), MORE) then long_way().begin(id, base) end
  local taken, answer = want.taken, want.answer
  local token, again = sub(want.tokens, taken * 16 + 1, taken * 16 + 16), ''
  if run then
    run, again = next_run(run, base, want, token, now, probe)
  else
    run = want.head .. token .. tail_of(base, want)
    if probe then again = told_again(1, false, true, 0, (struct.unpack('<d', base, 9))) end
  end
  taken = taken + 1
  want.taken = taken
  want.ids[taken] = id
  want.runs[2 * taken - 1], want.runs[2 * taken] = id, run
  local size = #answer
  answer[size + 1], answer[size + 2], answer[size + 3] = id, base, again
end

-- Start what may begin; how many may not. Read in growing parts, so that large payloads come a few at a time.
local function start_all(want, now, ids, from, only)
  local dropped, first, size, bytes = 0, 1, 16, 0
  while first <= #ids and bytes < MOST_BYTES do
    local part = { unpack(ids, first, math.min(first + size - 1, #ids)) }
    local bases, runs = values(JOBS, part), values(RUNS, part)
    for i, id in ipairs(part) do
      local lane, base = only or from[first + i - 1], bases[i]
      lane.used = lane.used + 1
      if base and in_time(id, base, now) then
        start(id, base, runs[i], want, now, lane.probing)
        if lane.probing then lane.probing[#lane.probing + 1] = id end
        lane.started = lane.started + 1
        bytes = bytes + #base
      else
        dropped = dropped + 1
        if base then
          later('ZADD', lane.key, '+inf', id)
        else
          count(lane.queue, 'w', -1)
          want.lost = want.lost + 1
        end
      end
    end
    first, size = first + size, size * 2
  end
  return dropped
end

-- Take them out of their lanes, into the worker's hand.
local function take(lanes, want)
  for _, lane in ipairs(lanes) do
    if lane.used > 0 then call('ZREMRANGEBYRANK', lane.key, 0, lane.used - 1) end
    count(lane.queue, 'w', -lane.started)
    count(lane.queue, 'a', lane.started)
    want.most[lane.queue] = want.most[lane.queue] - lane.started
    lane.started = 0
  end
end

-- Tell the others where work is left, and that there is none where there is none. After how long it is worth asking
-- again, where only time is needed.
local function tell(lanes, now)
  local left, next_in = {}, nil
  for _, lane in ipairs(lanes) do
    left[lane.queue] = left[lane.queue] or call('ZCOUNT', lane.key, '-inf', '(+inf') > 0
  end
  for queue, some in pairs(left) do
    if grouped[queue] then
      local after
      some, after = limits().outlook(queue, some, now)
      next_in = limits().sooner(next_in, after)
    end
    if some then ring(queue) else call('DEL', p .. 'bell:' .. queue) end
  end
  return next_in
end

-- Greater than that of every claim before: the time, so that it is also when all keys were lost in between; and one
-- more than the last where the clock stands still or was set back.
local function next_fence(now)
  local fence = math.max(now, tonumber(call('GET', p .. 'fence') or 0) + 1)
  call('SET', p .. 'fence', score(fence))
  return score(fence)
end

local function read_want(first, now)
  local worker, request = ARGV[first], ARGV[first + 1]
  local want = {
    worker = worker, request = request, limit = tonumber(ARGV[first + 2]), tokens = ARGV[first + 3],
    tasks = ARGV[first + 4], free = tonumber(ARGV[first + 5]), most = {}, taken = 0, lost = 0, answer = { '1', 0, '', '0' },
    ids = {}, runs = {}, tails = {},
    head = run_head(now),
  }
  for i = first + 6, #ARGV, 2 do
    local most = tonumber(ARGV[i + 1])
    if most > 0 then want.most[ARGV[i]] = most end
  end
  return want
end

-- One round over all lanes; how many ids had to be passed over.
local function take_round(want, lanes, fair, now)
  local limit = want.limit - want.taken
  if not fair then
    local dropped = start_all(want, now, candidates(lanes, want.most, limit))
    take(lanes, want)
    return dropped
  end
  limits().drop_idle(now, 10)
  local all = { unpack(lanes) }
  local dropped = start_all(want, now, limits().candidates(want, all, limit, now))
  limits().settle_accounts(want, all, now)
  take(all, want)
  return dropped
end

-- Who takes nothing may have been rung for all the same: somebody else shall hear of it.
local function pass_on(queues)
  for queue in pairs(queues) do
    if call('EXISTS', p .. 'lane:' .. queue) == 1 then ring(queue) end
  end
end

-- `first` is where the want begins in ARGV:
--   worker, request, limit, tokens (16 bytes each), tasks, free, then each queue and how many of it at most.
-- Answers: '1' alive, '2' alive and the jobs not in order of rank, or '0' not; how many ids had no record; microseconds
--   after which it is worth asking again, or ''; the fence; then id, base and what a rerun must tell, for each.
local function claim(now, first)
  local want, rounds = read_want(first, now), 0
  local alive = is_alive(want.worker, now)
  if not alive or want.limit <= 0 or call('LPOS', p .. 'void:' .. want.worker, want.request) then
    pass_on(want.most)
    return alive and want.answer or { '0', 0, '', '0' }
  end
  local lanes, fair = lanes_for(want.most, want.tasks)
  repeat
    local dropped = take_round(want, lanes, fair, now)
    write_all()
    rounds = rounds + 1
  until dropped == 0 or want.taken == want.limit or rounds == 10
  change('HSET', RUNS, want.runs)
  change('SADD', p .. 'held:' .. want.worker, want.ids)
  local next_in = tell(lanes, now)
  want.answer[1], want.answer[2] = rounds > 1 and not fair and '2' or '1', want.lost
  want.answer[3] = next_in and score(next_in) or ''
  if want.taken > 0 then want.answer[4] = next_fence(now) end
  return want.answer
end
