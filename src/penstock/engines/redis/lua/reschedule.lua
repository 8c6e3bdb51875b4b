#!lua flags=allow-oom
-- Give waiting and delayed jobs another due time; their expiry moves with it.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 delay (us); 3… ids, each once
-- Returns how many
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _more
--@ _limited
--@ _lines
--@ _standing
local now, changed = time_of(ARGV[1]), 0
local due = now + tonumber(ARGV[2])

-- Where it was moved or has run before, its run has its due time, and its base tells when it expires.
local function move(id, base, run)
  local base_due = due
  if run.due > 0 then
    base_due = base.due + due - run.due
    run.due = due
    later('HSET', RUNS, id, write_run(run))
  end
  local raw = with_due(call('HGET', JOBS, id), base_due)
  later('HSET', JOBS, id, raw)
  return read_base(raw)
end

for i = 3, #ARGV do
  local id = ARGV[i]
  local base, state, run = standing(id)
  if base and state ~= 'b' then
    leave_line(id, base, run, state)
    line_up(id, move(id, base, run), run, due > now and 'd' or 'w')
    write_all()
    changed = changed + 1
  end
end
return changed
