#!lua flags=allow-oom
-- Remove old dead letters.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 how old (us); 3 how many at most
-- Returns how many
--@ _keys
--@ _base
--@ _tally
--@ _letter
local now, purged = time_of(ARGV[1]), 0
local before = '(' .. string.format('%.0f', now - tonumber(ARGV[2]))
for _, id in ipairs(call('ZRANGEBYSCORE', p .. 'dead:failed', '-inf', before, 'LIMIT', 0, ARGV[3])) do
  local raw = call('HGET', p .. 'dead', id)
  later('ZREM', p .. 'dead:failed', id)
  if raw then
    local letter = read_letter(raw)
    local base = read_base(letter.base)
    if letter.recovered == 0 then count(base.queue, 'dead', -1) end
    later('ZREM', p .. (letter.recovered == 0 and 'dead:open:' or 'dead:past:') .. base.kind, id)
    later('HDEL', p .. 'dead', id)
    purged = purged + 1
  end
end
write_all()
return purged
