-- A dead letter of a run that ended for good: see _letter.lua.
local function bury(id, run, reason, error, now)
  local letter = struct.pack('<ddc16HddH', now, 0, NOBODY, run.attempt, run.started, run.ran_for, #reason)
    .. reason .. struct.pack('<I4', error and #error or 0) .. (error or '') .. call('HGET', JOBS, id)
  later('HSET', p .. 'dead', id, letter)
  later('ZADD', p .. 'dead:open:' .. run.kind, 0, id)
  later('ZADD', p .. 'dead:failed', now, id)
  count(queue_of(run.kind), 'dead', 1)
end
