#!lua flags=no-writes
-- What one worker holds.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 worker
-- Returns id, token, attempt, and since when (us ago), for each
--@ _keys
--@ _run
local now, ids, answer = time_of(ARGV[1]), call('SMEMBERS', p .. 'held:' .. ARGV[2]), {}
for i, raw in ipairs(values(RUNS, ids)) do
  local run = raw and read_run(raw)
  if run and run.state == 'a' then
    for _, value in ipairs({ ids[i], run.token, run.attempt, now - run.claimed }) do answer[#answer + 1] = value end
  end
end
return answer
