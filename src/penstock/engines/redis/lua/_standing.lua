-- A job that waits, is delayed or blocked: base, state and run. Else nothing, its state, and its run as it is stored.
local function standing(id)
  local raw = call('HGET', JOBS, id)
  if not raw then return nil end
  local run = call('HGET', RUNS, id)
  local state = state_of(id, run)
  if state ~= 'w' and state ~= 'd' and state ~= 'b' then return nil, state, run end
  local base = read_base(raw)
  return base, state, run and read_run(run) or new_run(base)
end
