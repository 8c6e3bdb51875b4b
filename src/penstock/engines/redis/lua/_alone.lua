-- One plain job that is due at once: what most calls bring. It is put in before the rest of the script is made, which
-- takes longer than that. One that is there already, or has more about it, is left to the rest; the layout is that of
-- _group.lua, and what is written is what `insert_all` writes.
if #ARGV == 9 and ARGV[4] == '' and ARGV[5] == '0' and ARGV[7] == '' then
  local p, call, kind, id = KEYS[1], redis.call, ARGV[3], ARGV[8]
  local queue = kind:sub(1, kind:find(':', 1, true) - 1)
  local bell, time = p .. 'bell:' .. queue, ARGV[1] == '' and call('TIME')
  local now = time and time[1] * 1000000 + time[2] or tonumber(ARGV[1])
  if call('HSETNX', p .. 'jobs', id, struct.pack('<dd', now, now) .. ARGV[9]) == 1 then
    call('SADD', p .. 'kinds', kind)
    call('ZADD', p .. 'live:' .. kind, '0', id)
    call('ZADD', p .. 'lane:' .. queue, string.format('%.0f', now - tonumber(ARGV[6]) * 1000000), id)
    call('HINCRBY', p .. 'counts', queue .. ':waiting', 1)
    if call('EXISTS', bell) == 0 then call('RPUSH', bell, 1) end
    return {}
  end
end
