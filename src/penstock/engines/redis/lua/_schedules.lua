-- A schedule, in sections as in _more.lua: s spec, o source, n when the next tick is due, d when the latest was (us, as
-- text: no double is that exact), p 1 where it is paused, j the latest job. Ticks: d due, f fired (us), j job, n note.
local SCHEDULES, DUE = p .. 'schedules', p .. 'due'

local function schedule_of(id)
  local raw = call('HGET', SCHEDULES, id)
  return raw and read_more(raw)
end

local function write_schedule(id, schedule)
  call('HSET', SCHEDULES, id, write_more(schedule))
  if schedule.n then call('ZADD', DUE, schedule.n, id) else call('ZREM', DUE, id) end
end
