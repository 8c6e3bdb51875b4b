#!lua flags=allow-oom
-- Keep a worker alive, unless its time is over: that is final.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 worker; 3 how long it lives from now (us); 4 how many bytes it has, or ''
-- Returns nothing where it was given up; else queues that are paused, id and token of jobs to stop, 1 where
-- somebody watches the feed, and what it was ordered to do, or ''
--@ _keys
--@ _run
--@ _workers
--@ _notes
local now, worker = time_of(ARGV[1]), ARGV[2]
local till = call('ZSCORE', p .. 'workers', worker)
if not till then return false end
if tonumber(till) <= now then
  give_up(worker)
  return false
end
call('ZADD', p .. 'workers', now + tonumber(ARGV[3]), worker)
if ARGV[4] ~= '' then call('HSET', p .. 'memory', worker, ARGV[4]) end
local paused, cancel, queues = {}, {}, call('HGETALL', p .. 'queues')
for i = 1, #queues, 2 do
  if queues[i + 1] == '1' then paused[#paused + 1] = queues[i] end
end
for _, id in ipairs(call('SMEMBERS', p .. 'cancels:' .. worker)) do
  local run = call('HGET', RUNS, id)
  if run then
    cancel[#cancel + 1], cancel[#cancel + 2] = id, read_run(run).token
  end
end
return { paused, cancel, note_of('listener', 'feed', now) and 1 or 0, call('HGET', p .. 'ordered', worker) or '' }
