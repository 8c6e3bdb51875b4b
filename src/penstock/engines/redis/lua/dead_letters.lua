#!lua flags=no-writes
-- One look at the dead letters of an owner, or of some kinds, newest first: so many are looked at, and no more.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 id after which to look, or ''; 3 queue or ''; 4 task or ''; 5 '1': those recovered too;
--      6 'o' and the owner, or ''; 7 '1': with payloads
-- Returns id after which to look next, or '' where nothing is left; then id and letter, for each
--@ _keys
--@ _base
--@ _letter
--@ _newest
--@ _by_word
--@ _bare
local MOST_BYTES = 4 * 1048576
local queue, task, recovered, owner = ARGV[3], ARGV[4], ARGV[5] == '1', ARGV[6]

local function by_kind()
  local keys = {}
  for _, kind in ipairs(kinds_of(queue, task)) do
    keys[#keys + 1] = p .. 'dead:open:' .. kind
    if recovered then keys[#keys + 1] = p .. 'dead:past:' .. kind end
  end
  local some = share(#keys)
  local ids = newest(keys, ARGV[2], some)
  return ids, #ids == some
end

local function matches(letter, base)
  if letter.recovered > 0 and not recovered then return false end
  if queue ~= '' and base.queue ~= queue then return false end
  return task == '' or sub(base.kind, #base.queue + 2) == task
end

local ids, more
if owner == '' then ids, more = by_kind() else ids, more = by_word(p .. 'dead:owners', sub(owner, 2), ARGV[2]) end
local answer, last, bytes = { '' }, '', 0
for i, id in ipairs(ids) do
  local raw = call('HGET', p .. 'dead', id)
  if raw then
    local letter = read_letter(raw)
    local base = read_base(letter.base)
    if matches(letter, base) then
      answer[#answer + 1] = id
      answer[#answer + 1] = ARGV[7] == '1' and raw
        or sub(raw, 1, #raw - #letter.base) .. without_payload(letter.base, base)
    end
    bytes = bytes + #raw
  end
  last = id
  if bytes > MOST_BYTES and i < #ids then
    more = true
    break
  end
end
answer[1] = more and last or ''
return answer
