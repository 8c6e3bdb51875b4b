-- A dead letter of a run that ended for good: see _letter.lua.
local AS_ITS_RECORD = '-' .. string.rep('\0', 8)

local function bury(id, run, reason, error, now)
  local base = call('HGET', JOBS, id)
  local window = has(run.base_flags, MORE) and more_of(id).w or AS_ITS_RECORD
  local letter = struct.pack('<ddc16Hdd', now, 0, NOBODY, run.attempt, run.started, run.ran_for) .. window
    .. struct.pack('<H', #reason) .. reason .. struct.pack('<I4', error and #error or 0) .. (error or '')
    .. base
  later('HSET', p .. 'dead', id, letter)
  local owner = has(run.base_flags, OWNER) and read_base(base).owner
  if owner then later('ZADD', p .. 'dead:owners', 0, owner .. '\0' .. id) end
  later('ZADD', p .. 'dead:open:' .. run.kind, 0, id)
  later('ZADD', p .. 'dead:failed', now, id)
  count(queue_of(run.kind), 'dead', 1)
end
