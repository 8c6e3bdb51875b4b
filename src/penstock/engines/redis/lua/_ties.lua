-- What the end of a job means for those that wait for it.
-- Those who wait for it: upstream, the job, and what is done when the upstream ends badly.
local function edges_to(id) return call('ZRANGEBYLEX', EDGES, '[' .. id, '[' .. id .. string.rep('\255', 17)) end

-- A job that has not begun is due at its own time or now, whichever is later; its expiry moves with that.
local function unblock(id, now)
  local raw = call('HGET', JOBS, id)
  untie(id)
  if not raw then return end
  local base = read_base(raw)
  count(base.queue, 'b', -1)
  if base.due < now then
    raw = with_due(raw, now)
    call('HSET', JOBS, id, raw)
    base = read_base(raw)
  end
  line_up(id, base, new_run(base), base.due > now and 'd' or 'w')
end

local function end_blocked(id, state, note, now)
  local raw = call('HGET', JOBS, id)
  untie(id)
  if not raw then return end
  local base = read_base(raw)
  count(base.queue, 'b', -1)
  local run = new_run(base)
  run.texts.n = note
  finish(id, run, state, now, true)
  return run
end

-- UPSTREAM_FAILED in model/outcome.py.
local function note_on(id) return 'job ' .. text_of(id) .. ', for which it waited, did not complete' end

local function resolve(edge, state, now)
  local upstream, id, rule = sub(edge, 1, 16), sub(edge, 17, 32), sub(edge, 33)
  local left = tonumber(call('HGET', BLOCKED, id) or 0)
  if state == 'c' or rule == 'i' then
    call('ZREM', EDGES, edge)
    if left > 1 then call('HINCRBY', BLOCKED, id, -1) end
    if left == 1 then unblock(id, now) end
  elseif rule == 'c' then
    unblock(id, now)
  elseif rule == 'f' then
    end_blocked(id, 'x', note_on(upstream), now)
  end
end

before_writing[#before_writing + 1] = function()
  local at = 1
  while untold[at] do
    local one = untold[at]
    for _, edge in ipairs(edges_to(one.id)) do
      -- Another edge of the same job may have decided meanwhile.
      if call('ZSCORE', EDGES, edge) then resolve(edge, one.state, one.now) end
    end
    at = at + 1
  end
  untold = {}
end
