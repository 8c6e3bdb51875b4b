-- The end of a job, and the end of its record.
local function key_field(base) return base.kind .. ':' .. base.key end

-- Free the key it holds, and take it out of the indexes that only some jobs are in: `flags` of its base tell.
local function unlist(id, flags)
  if flags % 16 < OWNER and not has(flags, UNIQUE) then return end
  local raw = call('HGET', JOBS, id)
  if not raw then return end
  local base = read_base(raw)
  if has(flags, UNIQUE) and call('HGET', p .. 'keys', key_field(base)) == id then
    call('HDEL', p .. 'keys', key_field(base))
  end
  if base.key then call('ZREM', p .. 'bykey', base.key .. '\0' .. id) end
  if base.owner then call('ZREM', p .. 'owners', base.owner .. '\0' .. id) end
end

local function forget(id, run)
  unlist(id, run.base_flags)
  later('HDEL', RUNS, id)
  later('HDEL', JOBS, id)
end

-- Completed and unsuccessful jobs are kept under bounds of their own, in the order in which they ended.
local function shelf_of(state)
  if state == 'c' then return 'done:', 'ended:' end
  return 'bad:', 'troubled:'
end

local function finish(id, run, state, now, keep)
  later('ZREM', p .. 'live:' .. run.kind, id)
  if not keep then return forget(id, run) end
  run.state, run.finished = state, now
  later('HSET', RUNS, id, write_run(run))
  local by_id, by_end = shelf_of(state)
  local queue = queue_of(run.kind)
  later('ZADD', p .. by_id .. run.kind, 0, id)
  later('ZADD', p .. by_end .. queue, now, id)
  count(queue, state, 1)
end

-- Remove the records of finished jobs; how many there were.
local function remove(ids)
  local removed = 0
  for i, raw in ipairs(values(RUNS, ids)) do
    local id, state = ids[i], raw and sub(raw, 1, 1)
    if state == 'c' or state == 'f' or state == 'x' then
      local run = read_run(raw)
      local by_id, by_end = shelf_of(state)
      local queue = queue_of(run.kind)
      later('ZREM', p .. by_id .. run.kind, id)
      later('ZREM', p .. by_end .. queue, id)
      forget(id, run)
      count(queue, state, -1)
      removed = removed + 1
    end
  end
  return removed
end
