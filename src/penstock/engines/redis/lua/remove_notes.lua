#!lua flags=allow-oom
-- Remove notes.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 kind; then keys
-- Returns how many there were
--@ _keys
--@ _notes
local now, removed = time_of(ARGV[1]), 0
for i = 3, #ARGV do
  if note_of(ARGV[2], ARGV[i], now) then removed = removed + 1 end
  drop_note(ARGV[2], ARGV[i])
end
return removed
