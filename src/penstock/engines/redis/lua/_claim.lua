-- Taking jobs: lane by lane, first in rank over all lanes.
local MOST_BYTES = 4 * 1048576 -- of payload in one answer, give or take a part

local function is_alive(worker, now)
  local till = call('ZSCORE', p .. 'workers', worker)
  return till and tonumber(till) > now
end

-- `tasks` names each task the worker knows and its signature: \1 task \0 signature, and \1 at the end.
local function can_run(tasks, task, misfit)
  local from, to = tasks:find('\1' .. task .. '\0', 1, true)
  return from and sub(tasks, to + 1, tasks:find('\1', to, true) - 1) ~= misfit
end

-- The open lanes of the wanted queues, and what is parked there for a worker such as this one.
local function lanes_for(most, tasks)
  local lanes, queues = {}, {}
  for queue in pairs(most) do queues[#queues + 1] = queue end
  if #queues == 0 then return lanes end
  for i, paused in ipairs(values(p .. 'queues', queues)) do
    if paused == '1' then
      most[queues[i]] = nil
    else
      lanes[#lanes + 1] = { key = p .. 'lane:' .. queues[i], queue = queues[i] }
    end
  end
  for _, lane in ipairs(call('HKEYS', p .. 'lanes')) do
    local queue, task, misfit = lane:match('^([^?]*)%?([^?]*)%??(.*)$')
    if queue and most[queue] and can_run(tasks, task, misfit) then
      lanes[#lanes + 1] = { key = p .. 'lane:' .. lane, queue = queue }
    end
  end
  return lanes
end

local function before(one, other)
  local a, b = one.scores[one.next], other.scores[other.next]
  return a < b or a == b and one.ids[one.next] < other.ids[other.next]
end

-- Who is first in rank, from each lane in turn; `most` bounds each queue, `limit` all together.
local function candidates(lanes, most, limit)
  local open, chosen, taken = {}, {}, {}
  for _, lane in ipairs(lanes) do
    lane.ids, lane.scores, lane.next, lane.used = {}, {}, 1, 0
    local some = math.min(most[lane.queue], limit)
    if some > 0 then
      local found = call('ZRANGE', lane.key, 0, some - 1, 'WITHSCORES')
      for i = 1, #found, 2 do
        lane.ids[#lane.ids + 1], lane.scores[#lane.scores + 1] = found[i], tonumber(found[i + 1])
      end
      if #found > 0 then open[#open + 1] = lane end
    end
  end
  while #chosen < limit do
    local first
    for _, lane in ipairs(open) do
      if lane.ids[lane.next] and (taken[lane.queue] or 0) < most[lane.queue]
        and (not first or before(lane, first)) then
        first = lane
      end
    end
    if not first then break end
    chosen[#chosen + 1] = { id = first.ids[first.next], lane = first }
    first.next = first.next + 1
    taken[first.queue] = (taken[first.queue] or 0) + 1
  end
  return chosen
end

-- The run of a job that is claimed for the first time.
local function first_run(base, want, token, now)
  local flags, length = byte(base, 17), struct.unpack('<H', base, 23)
  return struct.pack(RUN, 'a', 0, 0, 0, 1, 0, 0, 0, now, now, token, flags, length, #want.worker, #want.request, 0)
    .. sub(base, 25, 24 + length) .. want.worker .. want.request
end

local function next_run(raw, base, want, token, now)
  local run = read_run(raw)
  local due = run.due > 0 and run.due or struct.unpack('<d', base, 9)
  run.state, run.attempt, run.claimed, run.token = 'a', run.attempt + 1, now, token
  run.worker, run.request = want.worker, want.request
  if run.started == 0 then run.started = now end
  return write_run(run), struct.pack('<HBHd', run.attempt, run.suspect and 1 or 0, run.crashes, due) .. run.lane
end

-- Whether the job may begin. What has passed its expiry leaves the lane, and waits for the sweep.
local function in_time(id, base, now)
  if not has(byte(base, 17), EXPIRES) then return true end
  if read_base(base).expires <= now then return false end
  later('ZREM', p .. 'expiring', id)
  return true
end

local function start(job, base, run, want, now)
  local token = sub(want.tokens, want.taken * 16 + 1, want.taken * 16 + 16)
  local text, again
  if run then text, again = next_run(run, base, want, token, now) else text = first_run(base, want, token, now) end
  want.taken = want.taken + 1
  want.most[job.lane.queue] = want.most[job.lane.queue] - 1
  later('HSET', RUNS, job.id, text)
  later('SADD', p .. 'held:' .. want.worker, job.id)
  count(job.lane.queue, 'w', -1)
  count(job.lane.queue, 'a', 1)
  local answer = want.answer
  answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = job.id, base, again or ''
end

-- Start what may begin; how many may not. Read in growing parts, so that large payloads come a few at a time.
local function start_all(chosen, want, now)
  local dropped, from, size, bytes = 0, 1, 16, 0
  while from <= #chosen and bytes < MOST_BYTES do
    local ids = {}
    for i = from, math.min(from + size - 1, #chosen) do ids[#ids + 1] = chosen[i].id end
    local bases, runs = values(JOBS, ids), values(RUNS, ids)
    for i = 1, #ids do
      local job, base = chosen[from + i - 1], bases[i]
      job.lane.used = job.lane.used + 1
      if base and in_time(job.id, base, now) then
        start(job, base, runs[i], want, now)
        bytes = bytes + #base
      else
        dropped = dropped + 1
        if not base then
          count(job.lane.queue, 'w', -1)
          want.lost = want.lost + 1
        end
      end
    end
    from, size = from + size, size * 2
  end
  return dropped
end

-- Tell the others where work is left, and that there is none where there is none.
local function tell(lanes)
  local left = {}
  for _, lane in ipairs(lanes) do
    left[lane.queue] = left[lane.queue] or call('EXISTS', lane.key) == 1
  end
  for queue, some in pairs(left) do
    if some then ring(queue) else call('DEL', p .. 'bell:' .. queue) end
  end
end

-- `first` is where the want begins in ARGV:
--   worker, request, limit, tokens (16 bytes each), tasks, then each queue and how many of it at most.
-- Answers: '1' alive or '0' not, how many ids had no record, then id, base and what a rerun must tell, for each.
local function claim(now, first)
  local want = {
    worker = ARGV[first], request = ARGV[first + 1], tokens = ARGV[first + 3],
    most = {}, taken = 0, lost = 0, answer = { '1', 0 },
  }
  if not is_alive(want.worker, now) then return { '0', 0 } end
  if call('LPOS', p .. 'void:' .. want.worker, want.request) then return want.answer end
  local limit, most, rounds = tonumber(ARGV[first + 2]), want.most, 0
  for i = first + 5, #ARGV, 2 do
    if tonumber(ARGV[i + 1]) > 0 then most[ARGV[i]] = tonumber(ARGV[i + 1]) end
  end
  if limit <= 0 then return want.answer end
  local lanes = lanes_for(most, ARGV[first + 4])
  repeat
    local dropped = start_all(candidates(lanes, most, limit - want.taken), want, now)
    for _, lane in ipairs(lanes) do
      if lane.used > 0 then call('ZREMRANGEBYRANK', lane.key, 0, lane.used - 1) end
    end
    rounds = rounds + 1
  until dropped == 0 or want.taken == limit or rounds == 10
  tell(lanes)
  want.answer[2] = want.lost
  return want.answer
end
