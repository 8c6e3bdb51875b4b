#!lua
-- Keep a note.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 kind; 3 key; 4 body; 5 for how long (us) or ''; 6 the version that must be there, or ''
-- Returns the version, or nothing where another is there
--@ _keys
--@ _notes
local now, kind, key = time_of(ARGV[1]), ARGV[2], ARGV[3]
local _, version = note_of(kind, key, now)
version = version or 0
if ARGV[6] ~= '' and tonumber(ARGV[6]) ~= version then return nil end
local ends = ARGV[5] == '' and 0 or now + tonumber(ARGV[5])
call('HSET', p .. 'notes:' .. kind, key, struct.pack('<ddd', version + 1, now, ends) .. ARGV[4])
call('ZADD', p .. 'notekeys:' .. kind, 0, key)
call('ZADD', p .. 'noted:' .. kind, score(now), key)
if ends > 0 then
  call('ZADD', NOTE_ENDS, score(ends), kind .. ':' .. key)
else
  call('ZREM', NOTE_ENDS, kind .. ':' .. key)
end
return version + 1
