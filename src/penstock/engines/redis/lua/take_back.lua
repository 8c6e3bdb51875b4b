#!lua flags=allow-oom
-- End the runs of workers that were given up, and forget those that hold nothing any more.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 how many ends; 3… the ends, see `read_end` in _ending.lua; then the workers
-- Returns one letter for each end: the state it led to, '-' where the job was not held by that token any more
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
--@ _workers
local now, size, told = time_of(ARGV[1]), tonumber(ARGV[2]), {}
for i = 1, size do
  local e = read_end(ARGV[2 + i])
  local raw = call('HGET', RUNS, e.id)
  local run = raw and read_run(raw)
  if run and run.state == 'a' and run.token == e.token then
    told[i] = end_run(run, e, now)
    write_all()
  else
    told[i] = '-'
  end
end
for i = 3 + size, #ARGV do bury_worker(ARGV[i]) end
return table.concat(told)
