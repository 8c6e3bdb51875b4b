#!lua flags=no-writes
-- One look at the dead letters of some kinds, newest first: so many are looked at, and no more.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 id after which to look, or ''; 3 queue or ''; 4 task or ''; 5 '1': those recovered too
-- Returns id after which to look next, or '' where nothing is left; then id and letter, for each
--@ _keys
--@ _newest
local MOST_BYTES = 4 * 1048576
local keys, bytes = {}, 0
for _, kind in ipairs(kinds_of(ARGV[3], ARGV[4])) do
  keys[#keys + 1] = p .. 'dead:open:' .. kind
  if ARGV[5] == '1' then keys[#keys + 1] = p .. 'dead:past:' .. kind end
end
local some = share(#keys)
local ids = newest(keys, ARGV[2], some)
local answer = { #ids == some and ids[#ids] or '' }
for i, id in ipairs(ids) do
  local letter = call('HGET', p .. 'dead', id)
  if letter then
    answer[#answer + 1], answer[#answer + 2] = id, letter
    bytes = bytes + #letter
  end
  if bytes > MOST_BYTES and i < #ids then
    answer[1] = id
    break
  end
end
return answer
