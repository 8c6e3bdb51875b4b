-- Jobs on their way in, as `enqueue.py` lays them out.
local made = {} -- id -> state

local function read_group(at)
  local kind = ARGV[at + 1]
  local group = {
    size = tonumber(ARGV[at]), kind = kind, queue = queue_of(kind), lane = ARGV[at + 2],
    delay = tonumber(ARGV[at + 3]), head = tonumber(ARGV[at + 4]) * 1000000, extras = ARGV[at + 5],
  }
  if group.lane == '' then group.lane = group.queue else call('HSETNX', p .. 'lanes', group.lane, 'enqueued there') end
  later('SADD', p .. 'kinds', kind)
  return group, at + 6
end

local function read_job(group, at)
  local job = { id = ARGV[at], base = ARGV[at + 1], kind = group.kind, group = group }
  at = at + 2
  for i = 1, #group.extras do
    job[sub(group.extras, i, i)] = ARGV[at]
    at = at + 1
  end
  return job, at
end

local function insert(job, now)
  local id, group = job.id, job.group
  local due = now + group.delay
  local state = group.delay > 0 and 'd' or 'w'
  later('HSET', JOBS, id, struct.pack('<dd', now, due) .. job.base)
  later('ZADD', p .. 'live:' .. job.kind, 0, id)
  if state == 'd' then
    later('ZADD', p .. 'delayed', due, id)
  else
    later('ZADD', p .. 'lane:' .. group.lane, due - group.head, id)
    ring(group.queue)
  end
  if job.u then later('HSET', p .. 'keys', job.kind .. ':' .. job.u, id) end
  if job.k then later('ZADD', p .. 'bykey', 0, job.k .. '\0' .. id) end
  if job.o then later('ZADD', p .. 'owners', 0, job.o .. '\0' .. id) end
  if job.x then later('ZADD', p .. 'expiring', due + tonumber(job.x), id) end
  count(group.queue, state, 1)
  made[id] = state
end
