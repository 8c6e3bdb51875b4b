#!lua flags=no-writes
-- What stands, all at one time: the answers of other scripts, which take their arguments under the same name.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 how many lanes under limits are looked at in each queue; 3 how far back minutes have begun (us)
-- Returns now (us); then what these return: queues, workers, series, breakers, parked, schedules
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _limited
local now = time_of(ARGV[1])

local function queues(ARGV)
  --@ _queues
end

local function workers(ARGV)
  --@ _workers_all
end

local function series(ARGV)
  --@ _series
end

local function breakers(ARGV)
  --@ _breakers_all
end

local function parked()
  --@ _parked
end

local minutes = series({ ARGV[1], score(now - tonumber(ARGV[3])), score(now + 1), '', 'minute' })
return {
  score(now), queues(ARGV), workers(ARGV), minutes, breakers(ARGV), parked(), call('HGETALL', p .. 'schedules'),
}
