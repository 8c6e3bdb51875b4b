-- Jobs on their way in, as `enqueue.py` lays them out: groups of jobs that share all but their payload.
--   How many, kind, lane ('' the open one), delay (us), head start (s), extras; then for each job its id, its base
--   without times, and what `extras` names: u unique key, k key, o owner, x expire_after (us), t what there is more
--   of it (see _more.lua; its deadline from now on, and under n the name of its flow).
local function read_group(at, now)
  local kind, delay = ARGV[at + 1], tonumber(ARGV[at + 3])
  local group = {
    size = tonumber(ARGV[at]), kind = kind, queue = queue_of(kind), lane = ARGV[at + 2], extras = ARGV[at + 5],
    due = now + delay, times = struct.pack('<dd', now, now + delay), state = delay > 0 and 'd' or 'w', now = now,
  }
  if group.lane == '' then group.lane = group.queue end
  if group.state == 'd' then
    group.line, group.score = p .. 'delayed', score(group.due)
  else
    group.line, group.score = p .. 'lane:' .. group.lane, score(group.due - tonumber(ARGV[at + 4]) * 1000000)
    group.limited = names_of(group.lane) ~= nil
    if not group.limited and group.lane ~= group.queue then
      call('HSETNX', p .. 'lanes', group.lane, 'enqueued there')
    end
    ring(group.queue)
  end
  call('SADD', p .. 'kinds', kind)
  return group, at + 6
end

local function read_job(group, at)
  local job = { id = ARGV[at], base = ARGV[at + 1], group = group }
  at = at + 2
  for i = 1, #group.extras do
    job[sub(group.extras, i, i)] = ARGV[at]
    at = at + 1
  end
  return job, at
end

-- What there is more of it; where it is to wait for others, those are to be looked at when all have come in.
local function insert_more(job)
  local more, now = read_more(job.t), job.group.now
  if more.d then more.d = struct.pack('<d', now + struct.unpack('<d', more.d)) .. sub(more.d, 9) end
  if more.l then join_flow(job.id, more.l, more.n, now) end
  more.n = nil
  call('HSET', MORES, job.id, write_more(more))
  return more.a
end

local function stand_in_line(job)
  local id, group = job.id, job.group
  call('ZADD', group.line, group.score, id)
  if job.x then call('ZADD', p .. 'expiring', score(group.due + tonumber(job.x)), id) end
  if group.limited then limits().touch(group.lane) end
  count(group.queue, group.state, 1)
end

-- Whether it stands in line: else it is to be tied.
local function insert(job)
  local id, group = job.id, job.group
  call('HSET', JOBS, id, group.times .. job.base)
  call('ZADD', p .. 'live:' .. group.kind, '0', id)
  if job.u then call('HSET', p .. 'keys', group.kind .. ':' .. job.u, id) end
  if job.k then call('ZADD', p .. 'bykey', '0', job.k .. '\0' .. id) end
  if job.o then
    call('ZADD', p .. 'owners', '0', job.o .. '\0' .. id)
    owe(job.o, 1)
  end
  if job.t and insert_more(job) then return false end
  stand_in_line(job)
  return true
end
