#!lua flags=allow-oom
-- End the runs of workers that were given up, and forget those that hold nothing any more.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 how many ends; 3… the ends, see `read_end` in _ending.lua; then the workers
-- Returns one letter for each end: the state it led to, '-' where the job was not held by that token any more; and
-- why the next one could not be written, '' where all were: nothing is done about those behind it
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

local function take_back(packed)
  local e = read_end(packed)
  local raw = call('HGET', RUNS, e.id)
  local run = raw and read_run(raw)
  if not (run and run.state == 'a' and run.token == e.token) then return '-' end
  local state = end_run(run, e, now)
  write_all()
  return state
end

for i = 1, size do
  local done, state = pcall(take_back, ARGV[2 + i])
  -- What was gathered for this one is dropped with the script; nothing more may be written by it.
  if not done then return { table.concat(told), type(state) == 'table' and state.err or tostring(state) } end
  told[i] = state
end
for i = 3 + size, #ARGV do bury_worker(ARGV[i]) end
return { table.concat(told), '' }
