-- One job on its way in, with whatever it has beside its payload: see _group.lua for how it is laid out.
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
