-- A newcomer replaces payload, owner, options, priority and lane of one that is debounced, and puts its due time off.

-- The base of a job in its pieces: see _base.lua.
local function pieces_of(base)
  local flags, low, high = byte(base, 17), byte(base, 23, 24)
  local at, pieces = 25 + low + 256 * high, { kind = sub(base, 23, 24 + low + 256 * high), flags = flags }
  local function take(bit, size)
    if not has(flags, bit) then return '' end
    at = at + size
    return sub(base, at - size, at - 1)
  end
  local function length(format, size) return at + size <= #base + 1 and struct.unpack(format, base, at) + size or 0 end
  pieces.expires = take(EXPIRES, 8)
  pieces.owner = take(OWNER, length('<H', 2))
  pieces.key = take(KEY, length('<H', 2))
  pieces.lane = take(LANE, length('<H', 2))
  pieces.options = take(OPTIONS, length('<I4', 4))
  pieces.heir = take(HEIR, 16)
  pieces.args = sub(base, at)
  return pieces
end

local function replaced(old, new)
  local was, now = pieces_of(old), pieces_of(new)
  local flags, bits = was.flags, { OWNER, OPTIONS }
  if now.lane:find('?', 3, true) then now.lane = was.lane else bits[3] = LANE end
  for _, bit in ipairs(bits) do
    flags = flags + ((has(now.flags, bit) and bit or 0) - (has(flags, bit) and bit or 0))
  end
  return table.concat({
    sub(old, 1, 8), sub(new, 9, 16), string.char(flags), sub(new, 18, 18), sub(old, 19, 20), sub(new, 21, 22), was.kind,
    was.expires, now.owner, was.key, now.lane, now.options, was.heir, now.args,
  })
end

local function replace(id, job)
  local raw = call('HGET', JOBS, id)
  local old, state, run = standing(id)
  local new = replaced(raw, job.group.times .. job.base)
  local base = read_base(new)
  if state ~= 'b' then leave_line(id, old, run, state) end
  call('HSET', JOBS, id, new)
  call('HDEL', RUNS, id)
  if old.owner then
    call('ZREM', p .. 'owners', old.owner .. '\0' .. id)
    owe(old.owner, -1)
  end
  if base.owner then
    call('ZADD', p .. 'owners', '0', base.owner .. '\0' .. id)
    owe(base.owner, 1)
  end
  if state ~= 'b' then line_up(id, base, new_run(base), job.group.state) end
  write_all()
end
