#!lua
-- Put jobs in, all or none: refused as a whole where memory is full.
-- KEYS 1 prefix
-- ARGV 1 now or ''; then groups of jobs that share all but their payload:
--      how many, kind, lane ('' the open one), delay (us), head start (s), extras; then for each job its id, its
--      base without times, and what `extras` names: u unique key, k key, o owner, x expire_after (us)
-- Returns place (from 0), id and state of the job that is there already, for each that was not created
--@ _keys
--@ _base
--@ _tally
--@ _lines
--@ _insert
local now = time_of(ARGV[1])
local at, place, answer = 2, 0, {}

-- Jobs with nothing but a payload, all at once. False, and nothing is done, where one of them is there already.
local function insert_all(group)
  local ids, jobs, live, line, two = {}, {}, {}, {}, 0
  for i = 1, group.size do ids[i] = ARGV[at + 2 * i - 2] end
  for _, there in ipairs(values(JOBS, ids)) do
    if there then return false end
  end
  for i, id in ipairs(ids) do
    local one = two + 1
    two = two + 2
    jobs[one], jobs[two] = id, group.times .. ARGV[at + 2 * i - 1]
    live[one], live[two] = '0', id
    line[one], line[two] = group.score, id
  end
  count(group.queue, group.state, change('HSET', JOBS, jobs))
  change('ZADD', p .. 'live:' .. group.kind, live)
  change('ZADD', group.line, line)
  return true
end

-- The job that keeps this one from being made: itself from an earlier try, or the holder of its key.
local function in_its_way(job)
  if call('HEXISTS', JOBS, job.id) == 1 then return job.id end
  local holder = job.u and call('HGET', p .. 'keys', job.group.kind .. ':' .. job.u)
  return holder and call('HEXISTS', JOBS, holder) == 1 and holder
end

local function insert_one(job)
  local there = in_its_way(job)
  if not there then return insert(job) end
  local state = made[there] or state_of(there, call('HGET', RUNS, there))
  answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = place, there, state
end

while at <= #ARGV do
  local group
  group, at = read_group(at, now)
  if group.extras == '' and insert_all(group) then
    at, place = at + 2 * group.size, place + group.size
  else
    for _ = 1, group.size do
      local job
      job, at = read_job(group, at)
      insert_one(job)
      place = place + 1
    end
  end
end
write_all()
return answer
