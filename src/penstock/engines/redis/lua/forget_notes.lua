#!lua flags=allow-oom
-- Remove notes of a kind that were written long ago.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 kind; 3 how old (us); 4 how many at most
-- Returns how many
--@ _keys
--@ _notes
local before = '(' .. score(time_of(ARGV[1]) - tonumber(ARGV[3]))
local gone = 0
for _, key in ipairs(call('ZRANGEBYSCORE', p .. 'noted:' .. ARGV[2], '-inf', before, 'LIMIT', 0, ARGV[4])) do
  gone = gone + drop_note(ARGV[2], key)
end
return gone
