-- Removes a dead letter; whether there was one.
local function remove_letter(id)
  local raw = call('HGET', p .. 'dead', id)
  later('ZREM', p .. 'dead:failed', id)
  if not raw then return false end
  local letter = read_letter(raw)
  local base = read_base(letter.base)
  if letter.recovered == 0 then count(base.queue, 'dead', -1) end
  later('ZREM', p .. (letter.recovered == 0 and 'dead:open:' or 'dead:past:') .. base.kind, id)
  if base.owner then later('ZREM', p .. 'dead:owners', base.owner .. '\0' .. id) end
  later('HDEL', p .. 'dead', id)
  return true
end
