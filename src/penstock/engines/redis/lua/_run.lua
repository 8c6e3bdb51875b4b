-- What has happened to a job since: written at its first claim, or when it ends without one.
--   state: a active, w waiting or delayed, c completed, f failed, x cancelled; finished, ran_for: double;
--   flags: byte (1 suspect, 2 cancel asked for); attempt, crashes, rescues: uint16;
--   due (0: as it came), claimed, started (0: never): double; token: 16 bytes; flags of the base: byte;
--   lengths of kind: uint16, worker: byte, request: byte, lane: uint16; those texts; then sections:
--   one letter, uint32, text: n note, p progress, r result, a the job it was recovered as (16 bytes),
--   e an error (double: when, and JSON). `codec.py` has the same layout.
local RUN = '<c1ddBHHHdddc16BHBBH'
local ERRORS_KEPT = 20

local function read_run(run)
  local r, kind, worker, request, lane = { errors = {}, texts = {} }
  local flags, at
  r.state, r.finished, r.ran_for, flags, r.attempt, r.crashes, r.rescues, r.due, r.claimed, r.started, r.token,
    r.base_flags, kind, worker, request, lane, at = struct.unpack(RUN, run)
  r.suspect, r.cancel = flags % 2 == 1, flags >= 2
  r.kind, at = sub(run, at, at + kind - 1), at + kind
  r.worker, at = sub(run, at, at + worker - 1), at + worker
  r.request, at = sub(run, at, at + request - 1), at + request
  r.lane, at = sub(run, at, at + lane - 1), at + lane
  while at <= #run do
    local name, length = struct.unpack('<c1I4', run, at)
    local text = sub(run, at + 5, at + 4 + length)
    if name == 'e' then r.errors[#r.errors + 1] = text else r.texts[name] = text end
    at = at + 5 + length
  end
  return r
end

local function new_run(base)
  return {
    state = 'w', finished = 0, ran_for = 0, suspect = false, cancel = false, attempt = 0, crashes = 0, rescues = 0,
    due = 0, claimed = 0, started = 0, token = NOBODY, base_flags = base.flags, kind = base.kind, worker = '',
    request = '', lane = '', errors = {}, texts = {},
  }
end

local function section(name, text) return name .. struct.pack('<I4', #text) .. text end

local function write_run(r)
  local flags = (r.suspect and 1 or 0) + (r.cancel and 2 or 0)
  local parts = {
    struct.pack(RUN, r.state, r.finished, r.ran_for, flags, r.attempt, r.crashes, r.rescues, r.due, r.claimed,
      r.started, r.token, r.base_flags, #r.kind, #r.worker, #r.request, #r.lane),
    r.kind, r.worker, r.request, r.lane,
  }
  for name, text in pairs(r.texts) do parts[#parts + 1] = section(name, text) end
  for _, text in ipairs(r.errors) do parts[#parts + 1] = section('e', text) end
  return table.concat(parts)
end
