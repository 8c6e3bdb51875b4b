#!lua flags=allow-oom
-- Remove the dead letters of some jobs.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2… ids, each once
-- Returns how many there were
--@ _keys
--@ _base
--@ _tally
--@ _letter
--@ _purge
local removed = 0
for i = 2, #ARGV do
  if remove_letter(ARGV[i]) then removed = removed + 1 end
end
write_all()
return removed
