-- Jobs on their way in, as `enqueue.py` lays them out.
local made = {} -- id -> state

local function read_group(at, now)
  local kind, delay = ARGV[at + 1], tonumber(ARGV[at + 3])
  local group = {
    size = tonumber(ARGV[at]), kind = kind, queue = queue_of(kind), lane = ARGV[at + 2], extras = ARGV[at + 5],
    due = now + delay, times = struct.pack('<dd', now, now + delay), state = delay > 0 and 'd' or 'w',
  }
  if group.lane == '' then group.lane = group.queue else call('HSETNX', p .. 'lanes', group.lane, 'enqueued there') end
  if group.state == 'd' then
    group.line, group.score = p .. 'delayed', score(group.due)
  else
    group.line, group.score = p .. 'lane:' .. group.lane, score(group.due - tonumber(ARGV[at + 4]) * 1000000)
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

local function insert(job)
  local id, group = job.id, job.group
  call('HSET', JOBS, id, group.times .. job.base)
  call('ZADD', p .. 'live:' .. group.kind, '0', id)
  call('ZADD', group.line, group.score, id)
  if job.u then call('HSET', p .. 'keys', group.kind .. ':' .. job.u, id) end
  if job.k then call('ZADD', p .. 'bykey', '0', job.k .. '\0' .. id) end
  if job.o then call('ZADD', p .. 'owners', '0', job.o .. '\0' .. id) end
  if job.x then call('ZADD', p .. 'expiring', score(group.due + tonumber(job.x)), id) end
  count(group.queue, group.state, 1)
  made[id] = group.state
end
