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
local at, place, taken, answer = 2, 0, {}, {}

-- The job that keeps this one from being made: itself from an earlier try, or the holder of its key.
local function in_its_way(job)
  if call('HEXISTS', JOBS, job.id) == 1 then return job.id end
  local field = job.u and job.kind .. ':' .. job.u
  if not field then return nil end
  local holder = taken[field] or call('HGET', p .. 'keys', field)
  if holder and (taken[field] or call('HEXISTS', JOBS, holder) == 1) then return holder end
  taken[field] = job.id
  return nil
end

while at <= #ARGV do
  local group
  group, at = read_group(at)
  for _ = 1, group.size do
    local job
    job, at = read_job(group, at)
    local there = made[job.id] and job.id or in_its_way(job)
    if there then
      local state = made[there] or state_of(there, call('HGET', RUNS, there))
      answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = place, there, state
    else
      insert(job, now)
    end
    place = place + 1
  end
end
write_all()
return answer
