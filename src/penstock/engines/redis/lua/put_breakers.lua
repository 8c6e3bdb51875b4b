#!lua
-- Declare breakers; one that is there keeps its state.
-- KEYS 1 prefix
-- ARGV 1 now or ''; then for each: name, and the breaker as declared, see _breakers.lua
--@ _keys
--@ _base
local now = score(time_of(ARGV[1]))
for i = 2, #ARGV, 2 do
  call('HSET', p .. 'breakers', ARGV[i], ARGV[i + 1])
  call('HSET', p .. 'declared', 'b:' .. ARGV[i], now)
end
return 1
