#!lua flags=allow-oom
-- Close or open a breaker by hand.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 breaker; 3 'c' to close it, 'o' to open it
-- Returns 1, or 0 for no such breaker
--@ _keys
--@ _base
--@ _tally
--@ _limited
local now = time_of(ARGV[1])
local b = limits().look_at(ARGV[2], now)
if not b.declared then return 0 end
limits().close(b, now)
if ARGV[3] == 'o' then
  limits().turn_to(b, 'o', now)
  b.window_from = 0
end
limits().wake_for(b)
write_all()
return 1
