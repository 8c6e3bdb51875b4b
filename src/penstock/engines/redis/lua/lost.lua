#!lua flags=allow-oom
-- Give workers up for good, and tell what they held.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 how many jobs at most; 3 the worker seen to be dead, or '' for all whose time has passed
-- Returns id, run, and the beginning of the base, for each
--@ _keys
--@ _workers
local now, limit = time_of(ARGV[1]), tonumber(ARGV[2])
local workers = { ARGV[3] }
if ARGV[3] == '' then workers = call('ZRANGEBYSCORE', p .. 'workers', '-inf', now, 'LIMIT', 0, 1000) end
local answer = {}

local function tell(id)
  local run, base = call('HGET', RUNS, id), call('HGET', JOBS, id)
  if run and base then
    answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = id, run, sub(base, 1, 24)
    return true
  end
  return false
end

for _, worker in ipairs(workers) do
  give_up(worker)
  local held = p .. 'held:' .. worker
  for _, id in ipairs(call('SMEMBERS', held)) do
    if #answer >= 3 * limit then break end
    if not tell(id) then call('SREM', held, id) end
  end
  bury_worker(worker)
end
return answer
