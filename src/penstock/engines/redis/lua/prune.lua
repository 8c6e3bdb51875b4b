#!lua flags=allow-oom
-- Remove the oldest finished jobs of a queue: too old first, then too many.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 queue; 3 how many completed and 4 how many others are kept, or ''; 5 how old they may be (us)
--      or ''; 6 how many at most; 7 name of the clean-up that is done once, or ''
-- Returns how many
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _more
--@ _flows
--@ _holding
--@ _finish
local now, queue, limit, run = time_of(ARGV[1]), ARGV[2], tonumber(ARGV[6]), ARGV[7]
local ENDED, TROUBLED = p .. 'ended:' .. queue, p .. 'troubled:' .. queue
local removed = 0

local function take(shelf, ids)
  if #ids == 0 then return end
  removed = removed + remove(ids)
  write_all()
  change('ZREM', shelf, ids) -- also what has no record any more
end

local function too_old(shelf)
  local before = '(' .. string.format('%.0f', now - tonumber(ARGV[5]))
  take(shelf, call('ZRANGEBYSCORE', shelf, '-inf', before, 'LIMIT', 0, limit - removed))
end

local function too_many(shelf, keep)
  local excess = math.min(limit - removed, call('ZCARD', shelf) - tonumber(keep))
  if excess > 0 then take(shelf, call('ZRANGE', shelf, 0, excess - 1)) end
end

if run ~= '' then
  local latest = call('HGET', p .. 'cleanups', queue)
  if latest and latest >= run then return 0 end
  call('HSET', p .. 'cleanups', queue, run)
end
if ARGV[5] ~= '' then
  too_old(ENDED)
  too_old(TROUBLED)
end
if ARGV[3] ~= '' then too_many(ENDED, ARGV[3]) end
if ARGV[4] ~= '' then too_many(TROUBLED, ARGV[4]) end
return removed
