-- The end of a job, and the end of its record.
-- Free the key it holds, and take it out of the indexes that only some jobs are in: `flags` of its base tell.
local function unlist(id, flags, more)
  if flags % 16 < OWNER and not has(flags, UNIQUE) then return end
  local raw = call('HGET', JOBS, id)
  if not raw then return end
  local base = read_base(raw)
  if has(flags, UNIQUE) then lose_key(id, base, more and more.w) end
  if base.key then call('ZREM', p .. 'bykey', base.key .. '\0' .. id) end
  if base.owner then call('ZREM', p .. 'owners', base.owner .. '\0' .. id) end
end

local function forget(id, run, more)
  unlist(id, run.base_flags, more)
  later('HDEL', RUNS, id)
  later('HDEL', JOBS, id)
  if not more then return end
  later('HDEL', MORES, id)
  call('UNLINK', steps_of(id))
  if more.l then quit_flow(id, more.l) end
end

local ended = {} -- what ended in this step, and how: those tied to it are still to be told
local untold = {}

local function finish(id, run, state, now, keep)
  later('ZREM', p .. 'live:' .. run.kind, id)
  if has(run.base_flags, OWNER) then owe_no_more({ id }) end
  local more = has(run.base_flags, MORE) and more_of(id)
  ended[id] = state
  if more then
    untold[#untold + 1] = { id = id, state = state, now = now }
    if more.l and end_in_flow(more.l) then keep = true end
    local base = more.w and sub(more.w, 1, 1) ~= 'p' and call('HGET', JOBS, id)
    if base then let_key_go(id, read_base(base)) end
  end
  if not keep then return forget(id, run, more) end
  if more and more.s then call('SADD', p .. 'shelves', more.s) end
  run.state, run.finished = state, now
  later('HSET', RUNS, id, write_run(run))
  local queue = queue_of(run.kind)
  later('ZADD', p .. BY_ID[state] .. run.kind, 0, id)
  if not (more and more.l) then later('ZADD', shelf_of(state, queue, more), now, id) end
  count(queue, state, 1)
end

-- Remove the records of finished jobs; how many there were.
local function remove(ids)
  local removed = 0
  for i, raw in ipairs(values(RUNS, ids)) do
    local id, state = ids[i], raw and sub(raw, 1, 1)
    if state == 'c' or state == 'f' or state == 'x' then
      local run = read_run(raw)
      local more = has(run.base_flags, MORE) and more_of(id)
      local queue = queue_of(run.kind)
      later('ZREM', p .. BY_ID[state] .. run.kind, id)
      later('ZREM', shelf_of(state, queue, more), id)
      forget(id, run, more)
      count(queue, state, -1)
      removed = removed + 1
    end
  end
  return removed
end
