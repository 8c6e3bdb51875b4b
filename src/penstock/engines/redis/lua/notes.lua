#!lua flags=no-writes
-- One look at the notes of a kind: so many are looked at, and no more.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 kind; 3 key after which to look, or ''; 4 '1' backwards or '0'; 5 how many at most
-- Returns key after which to look next, or '' where nothing is left; then key and note, see _notes.lua, in turn
--@ _keys
--@ _notes
local SOME, MOST_BYTES = 500, 1048576
local now, most, answer, bytes = time_of(ARGV[1]), math.min(tonumber(ARGV[5]), SOME), { '' }, 0
local command, from, to = 'ZRANGEBYLEX', '-', '+'
if ARGV[4] == '1' then command, from, to = 'ZREVRANGEBYLEX', '+', '-' end
if ARGV[3] ~= '' then from = '(' .. ARGV[3] end
local names = call(command, p .. 'notekeys:' .. ARGV[2], from, to, 'LIMIT', 0, most)
if #names == most then answer[1] = names[most] or '' end
for _, key in ipairs(names) do
  local raw = note_of(ARGV[2], key, now)
  if raw then
    answer[#answer + 1], answer[#answer + 2] = key, raw
    bytes = bytes + #raw
  end
  if bytes > MOST_BYTES then
    answer[1] = key
    break
  end
end
return answer
