#!lua flags=allow-oom
-- Remove old dead letters.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 how old (us); 3 how many at most
-- Returns how many
--@ _keys
--@ _base
--@ _tally
--@ _letter
--@ _purge
local now, purged = time_of(ARGV[1]), 0
local before = '(' .. string.format('%.0f', now - tonumber(ARGV[2]))
for _, id in ipairs(call('ZRANGEBYSCORE', p .. 'dead:failed', '-inf', before, 'LIMIT', 0, ARGV[3])) do
  if remove_letter(id) then purged = purged + 1 end
end
write_all()
return purged
