#!lua flags=allow-oom
-- Make delayed jobs due now.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2… ids
-- Returns how many
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _more
--@ _limited
--@ _lines
--@ _standing
local now, promoted = time_of(ARGV[1]), 0
for i = 2, #ARGV do
  local base, state, run = standing(ARGV[i])
  if base and state == 'd' then
    leave_line(ARGV[i], base, run, 'd')
    run.due = now
    later('HSET', RUNS, ARGV[i], write_run(run))
    line_up(ARGV[i], base, run, 'w')
    write_all()
    promoted = promoted + 1
  end
end
return promoted
