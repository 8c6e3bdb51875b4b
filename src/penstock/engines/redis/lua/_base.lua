-- What a job was when it came in, but for its due time, which others may move. `codec.py` has the same layout.
--   created, due: double; flags, priority: byte; max_attempts: uint16; head start: int16, seconds;
--   kind ("queue:task"): uint16 and text; then, where the flags say so:
--   1 unique, 2 expire_after: double, 4 owner, 8 key, 16 lane: uint16 and text, 32 options: uint32 and text,
--   64 recovered_from: 16 bytes; the rest is the payload. 128: there is more of it elsewhere, see _more.lua.
local UNIQUE, EXPIRES, OWNER, KEY, LANE, OPTIONS, HEIR, MORE = 1, 2, 4, 8, 16, 32, 64, 128

local function has(flags, bit) return flags % (2 * bit) >= bit end

local function with_due(base, due) return sub(base, 1, 8) .. struct.pack('<d', due) .. sub(base, 17) end

local function text_at(base, at)
  local length = struct.unpack('<H', base, at)
  return sub(base, at + 2, at + 1 + length), at + 2 + length
end

local function read_base(base)
  local b = {}
  b.created, b.due, b.flags, b.priority, b.max_attempts, b.head = struct.unpack('<ddBBHh', base)
  local at = 23
  b.kind, at = text_at(base, at)
  b.queue = queue_of(b.kind)
  if has(b.flags, EXPIRES) then
    b.expires = b.due + struct.unpack('<d', base, at)
    at = at + 8
  end
  if has(b.flags, OWNER) then b.owner, at = text_at(base, at) end
  if has(b.flags, KEY) then b.key, at = text_at(base, at) end
  b.lane = b.queue
  if has(b.flags, LANE) then b.lane, at = text_at(base, at) end
  b.rest = at
  return b
end
