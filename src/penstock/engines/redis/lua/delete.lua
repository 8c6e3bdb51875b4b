#!lua flags=allow-oom
-- Remove the records of finished jobs, and the keys they hold.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2… ids, each once
-- Returns how many
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _more
--@ _flows
--@ _holding
--@ _finish
local ids = {}
for i = 2, #ARGV do ids[#ids + 1] = ARGV[i] end
local removed = remove(ids)
write_all()
return removed
