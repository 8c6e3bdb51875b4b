#!lua flags=allow-oom
-- Ask to start under a breaker.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 breaker; 3 permit
-- Returns '1' to go on, '0' not to; microseconds after which to ask again, or ''
--@ _keys
--@ _base
--@ _tally
--@ _limited
local now = time_of(ARGV[1])
local b = limits().look_at(ARGV[2], now)
local free, after = limits().room(b), limits().retry_in(b, now)
if free > 0 and b.declared then limits().enter(b, ARGV[3], now + b.reset) end
write_all()
return { free > 0 and '1' or '0', after and score(after) or '' }
