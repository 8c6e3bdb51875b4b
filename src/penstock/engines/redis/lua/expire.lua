#!lua flags=allow-oom
-- Cancel what waited past its own expiry.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 how many at most; 3 what is noted
-- Returns how many
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _lines
--@ _finish
--@ _standing
--@ _cancel
local now, expired = time_of(ARGV[1]), 0
for _, id in ipairs(call('ZRANGEBYSCORE', p .. 'expiring', '-inf', now, 'LIMIT', 0, ARGV[2])) do
  local base, state, run = standing(id)
  if base then
    cancel_now(id, base, run, state, ARGV[3], now)
    expired = expired + 1
  else
    call('ZREM', p .. 'expiring', id)
  end
end
return expired
