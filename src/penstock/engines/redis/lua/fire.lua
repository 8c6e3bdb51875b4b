#!lua
-- Write one tick of a schedule, together with its job.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 schedule; 3 due and 4 when the tick after it is (us), or ''; 5 overlap: allow, skip or queue;
--      6 why it is let pass, or ''; what is noted where 7 the run before had not ended, 8 another waits behind it;
--      9 how many ticks are kept; 10… the job or nothing, see _group.lua; where it may be queued, its last value is
--      what there is more of it
-- Returns the tick, see _schedules.lua; nothing where the schedule is gone, paused, or not due then any more
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
--@ _group
--@ _insert
--@ _tie
--@ _standing
--@ _debounce
--@ _careful
local function carefully() return careful end
--@ _enqueue
--@ _schedules
local now, id, due = time_of(ARGV[1]), ARGV[2], ARGV[3]
local schedule = schedule_of(id)
if not schedule or schedule.p or schedule.n ~= due then return false end

-- Why the job is not made now, if it is not; where it is queued, it is to wait for the latest.
local function overlap(latest)
  if ARGV[5] == 'allow' or not latest or call('HEXISTS', JOBS, latest) == 0 or end_of(latest) then return nil end
  if ARGV[5] == 'skip' then return ARGV[7] end
  if call('HEXISTS', BLOCKED, latest) == 1 then return ARGV[8] end
  local more = read_more(ARGV[#ARGV])
  more.a = (more.a or '') .. latest .. 'i'
  ARGV[#ARGV] = write_more(more)
end

-- The job of the tick; whether it was made by it.
local function put_job()
  local job = ARGV[16]
  local was_there = call('HEXISTS', JOBS, job) == 1
  local there = put_in(10, #ARGV, now)
  if was_there or call('HEXISTS', JOBS, job) == 1 then return job, not was_there end
  return there[2], false
end

local tick = { d = due, f = score(now), n = ARGV[6] ~= '' and ARGV[6] or nil }
if ARGV[10] then
  local passed = overlap(schedule.j)
  if passed then
    tick.n = passed
  else
    local job, made = put_job()
    tick.j = job
    if made then schedule.j = job end
  end
end
schedule.d, schedule.n = due, ARGV[4] ~= '' and ARGV[4] or nil
write_schedule(id, schedule)
tick = write_more(tick)
call('LPUSH', p .. 'ticks:' .. id, tick)
call('LTRIM', p .. 'ticks:' .. id, 0, ARGV[9] - 1)
return tick
