#!lua
-- Declare limits.
-- KEYS 1 prefix
-- ARGV 1 now or ''; then for each: name, and the group as declared, see _groups.lua
-- Returns those whose lanes are to take their places anew
--@ _keys
--@ _base
--@ _tally
--@ _limited
local changed, DECLARED = {}, p .. 'groups'
for i = 2, #ARGV, 2 do
  local name, new = ARGV[i], ARGV[i + 1]
  if call('HGET', DECLARED, name) ~= new then
    local queue = name:match('^[^>]*')
    call('HSET', DECLARED, name, new)
    note_grouped(queue)
    ring(queue)
    changed[#changed + 1] = name
  end
end
write_all()
return changed
