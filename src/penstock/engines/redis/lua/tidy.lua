#!lua flags=allow-oom
-- Drop lanes that nobody waits in, kinds of which nothing is left, keys whose period is over, limits worked off.
-- KEYS 1 prefix
-- ARGV 1 now or ''
--@ _keys
--@ _base
--@ _tally
--@ _limited
for _, lane in ipairs(call('HKEYS', p .. 'lanes')) do
  if call('EXISTS', p .. 'lane:' .. lane) == 0 then call('HDEL', p .. 'lanes', lane) end
end
for _, kind in ipairs(call('SMEMBERS', p .. 'kinds')) do
  local left = call('EXISTS', p .. 'live:' .. kind, p .. 'done:' .. kind, p .. 'bad:' .. kind,
    p .. 'dead:open:' .. kind, p .. 'dead:past:' .. kind)
  if left == 0 then call('SREM', p .. 'kinds', kind) end
end
local now = time_of(ARGV[1])
for _, field in ipairs(call('ZRANGEBYSCORE', p .. 'periods', '-inf', score(now), 'LIMIT', 0, 1000)) do
  local held = call('HGET', p .. 'keys', field)
  if held and #held > 16 and struct.unpack('<d', held, 17) <= now then call('HDEL', p .. 'keys', field) end
  call('ZREM', p .. 'periods', field)
end
limits().drop_idle(now, 2000)
limits().drop_grouped(now)
return 1
