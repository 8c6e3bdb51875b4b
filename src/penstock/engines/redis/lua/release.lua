#!lua flags=allow-oom
-- Hand back what one claim took and nobody received; should it still arrive, it takes nothing.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 worker; 3 request; 4 the end of each, see `read_end` in _ending.lua: its id and token are not read
-- Returns how many were handed back
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _more
--@ _limited
--@ _lines
--@ _flows
--@ _holding
--@ _finish
--@ _ties
--@ _bury
--@ _ending
local now, worker, request = time_of(ARGV[1]), ARGV[2], ARGV[3]
if call('ZSCORE', p .. 'workers', worker) then
  call('LPUSH', p .. 'void:' .. worker, request)
  call('LTRIM', p .. 'void:' .. worker, 0, 19)
end
local released, ids = 0, call('SMEMBERS', p .. 'held:' .. worker)
for i, raw in ipairs(values(RUNS, ids)) do
  local run = raw and read_run(raw)
  if run and run.state == 'a' and run.request == request then
    local e = read_end(ARGV[4])
    e.id = ids[i]
    end_run(run, e, now)
    released = released + 1
  end
end
write_all()
return released
