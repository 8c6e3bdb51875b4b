#!lua flags=allow-oom
-- Stop or resume the ticks of a schedule.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 id; 3 '1' paused or '0'; 4 when it goes on (us) or ''
-- Returns 1, or 0 for no such schedule
--@ _keys
--@ _base
--@ _more
--@ _schedules
local schedule, pause = schedule_of(ARGV[2]), ARGV[3] == '1'
if not schedule then return 0 end
if (schedule.p ~= nil) ~= pause then
  schedule.p = pause and '1' or nil
  schedule.n = not pause and ARGV[4] ~= '' and ARGV[4] or nil
  write_schedule(ARGV[2], schedule)
end
return 1
