-- What only some jobs have beside base and run; the flags of their base say that there may be some.
-- One record, of sections: one letter, uint32, text. `ties.py` has the same layout.
--   a the jobs it was to wait for: id, 16 bytes, and what is done when that one ends badly: f fail, c continue,
--   i ignore, w wait; d until when it may stay blocked: double, and what is done then: s skip, r run, f fail;
--   l flow; s shelf; o origin; w for how long it holds its key, where not as long as its record lives: u until it
--   ends, s until it is first claimed, p for a period, d likewise while debounced; and how long, double, us.
local MORES, FLAGS_AT, RUN_FLAGS_AT = p .. 'more', 17, 65

local function read_more(text)
  local more, at = {}, 1
  while text and at <= #text do
    local name, length = struct.unpack('<c1I4', text, at)
    more[name] = sub(text, at + 5, at + 4 + length)
    at = at + 5 + length
  end
  return more
end

local function write_more(more)
  local parts = {}
  for name, text in pairs(more) do parts[#parts + 1] = name .. struct.pack('<I4', #text) .. text end
  return table.concat(parts)
end

-- The results of its steps: place, double, and value by name.
local function steps_of(id) return p .. 'steps:' .. text_of(id) end

local function more_of(id) return read_more(call('HGET', MORES, id)) end

local function flagged(text, at)
  local flags = byte(text, at)
  if has(flags, MORE) then return nil end
  return sub(text, 1, at - 1) .. string.char(flags + MORE) .. sub(text, at + 1)
end

-- From now on there is more of this job: whoever ends it must look.
local function flag(id)
  local base, run = call('HGET', JOBS, id), call('HGET', RUNS, id)
  base, run = base and flagged(base, FLAGS_AT), run and flagged(run, RUN_FLAGS_AT)
  if base then call('HSET', JOBS, id, base) end
  if run then call('HSET', RUNS, id, run) end
end

-- What a person is told of it: the record, and under b those it still waits for.
local function told_of(id, base)
  if not has(byte(base, FLAGS_AT), MORE) then return '' end
  local text, left = call('HGET', MORES, id) or '', {}
  if call('HEXISTS', p .. 'blocked', id) == 0 then return text end
  local edges = read_more(text).a or ''
  for i = 1, #edges, 17 do
    local upstream = sub(edges, i, i + 15)
    if call('ZSCORE', p .. 'edges', upstream .. id .. sub(edges, i + 16, i + 16)) then left[#left + 1] = upstream end
  end
  left = table.concat(left)
  return text .. 'b' .. struct.pack('<I4', #left) .. left
end
