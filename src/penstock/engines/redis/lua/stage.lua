#!lua flags=allow-oom
-- Delayed jobs that are due wait for a worker.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 how many at most
-- Returns microseconds until the next falls due, nothing where none will
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _more
--@ _limited
--@ _lines
local now = time_of(ARGV[1])
for _, id in ipairs(call('ZRANGEBYSCORE', p .. 'delayed', '-inf', now, 'LIMIT', 0, ARGV[2])) do
  local raw = call('HGET', JOBS, id)
  later('ZREM', p .. 'delayed', id)
  if raw then
    local base, run = read_base(raw), call('HGET', RUNS, id)
    count(base.queue, 'd', -1)
    line_up(id, base, run and read_run(run) or new_run(base), 'w')
  end
end
write_all()
local next = call('ZRANGE', p .. 'delayed', 0, 0, 'WITHSCORES')
return next[2] and math.max(0, tonumber(next[2]) - now)
