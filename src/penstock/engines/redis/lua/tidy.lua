#!lua flags=allow-oom
-- Drop lanes that nobody waits in, and kinds of which nothing is left.
-- KEYS 1 prefix
-- ARGV 1 now or ''
--@ _keys
for _, lane in ipairs(call('HKEYS', p .. 'lanes')) do
  if call('EXISTS', p .. 'lane:' .. lane) == 0 then call('HDEL', p .. 'lanes', lane) end
end
for _, kind in ipairs(call('SMEMBERS', p .. 'kinds')) do
  local left = call('EXISTS', p .. 'live:' .. kind, p .. 'done:' .. kind, p .. 'bad:' .. kind,
    p .. 'dead:open:' .. kind, p .. 'dead:past:' .. kind)
  if left == 0 then call('SREM', p .. 'kinds', kind) end
end
return 1
