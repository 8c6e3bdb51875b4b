#!lua flags=allow-oom
-- Cancel what waited past its own expiry; end the wait of what was blocked past its deadline.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 how many at most; what is noted 3 on the expired, 4 on those that missed their deadline, 5 where
--      that fails them
-- Returns how many
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
--@ _standing
--@ _cancel
local now, limit, expired = time_of(ARGV[1]), tonumber(ARGV[2]), 0

local function past(key) return call('ZRANGEBYSCORE', key, '-inf', score(now), 'LIMIT', 0, limit - expired) end

for _, id in ipairs(past(p .. 'expiring')) do
  local base, state, run = standing(id)
  if base and state ~= 'b' then
    cancel_now(id, base, run, state, ARGV[3], now)
    expired = expired + 1
  else
    call('ZREM', p .. 'expiring', id)
  end
end

local function miss_deadline(id)
  local verdict = sub(more_of(id).d or '', 9)
  if verdict == 'r' then return unblock(id, now) end
  if verdict ~= 'f' then return end_blocked(id, 'x', ARGV[4], now) end
  local run = end_blocked(id, 'f', ARGV[5], now)
  if run then bury(id, run, ARGV[5], nil, now) end
end

for _, id in ipairs(past(DEADLINES)) do
  if call('HEXISTS', BLOCKED, id) == 1 then
    miss_deadline(id)
    expired = expired + 1
    write_all()
  else
    call('ZREM', DEADLINES, id)
  end
end
return expired
