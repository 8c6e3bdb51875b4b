-- Notes: version, when it was written and when it is over (0: never) as doubles, then the body. Beside them stand their
-- keys, in order and by when they were written, and those that will be over, of all kinds, by when.
local NOTE_ENDS = p .. 'noteends'

local function note_of(kind, key, now)
  local raw = call('HGET', p .. 'notes:' .. kind, key)
  if not raw then return nil end
  local version, _, ends = struct.unpack('<ddd', raw)
  if ends > 0 and ends <= now then return nil end
  return raw, version
end

local function drop_note(kind, key)
  call('ZREM', p .. 'notekeys:' .. kind, key)
  call('ZREM', p .. 'noted:' .. kind, key)
  call('ZREM', NOTE_ENDS, kind .. ':' .. key)
  return call('HDEL', p .. 'notes:' .. kind, key)
end
