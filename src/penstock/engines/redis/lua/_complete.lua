-- The common end, many at once: completed by its holder, with no result and no note.
-- Its run changes by a few bytes at known places (see _run.lua); whatever is not plain takes the long way.
local ACTIVE, NO_TIME = byte('a'), string.rep('\0', 8)
local groups = {} -- by what comes before the request: flags of the base, lengths, kind, worker

local function group_of(run)
  local low, high, worker = byte(run, 66, 68)
  local kind = low + 256 * high
  local name = sub(run, 65, 71 + kind + worker)
  local group = groups[name]
  if not group then
    group = { kind = sub(name, 8, 7 + kind), worker = sub(name, 8 + kind), flags = byte(name, 1), ids = {} }
    groups[name], groups[#groups + 1] = group, group
  end
  return group
end

local function is_plain(run)
  local flags, low, high, worker, request, less, more = byte(run, 65, 71)
  return flags < MORE and not has(flags, LANE) and less + more == 0 and byte(run, 18) == 0
    and #run == 71 + low + 256 * high + worker + request
end

local function write_group(group, keep, now)
  local ids, queue = group.ids, queue_of(group.kind)
  change('ZREM', p .. 'live:' .. group.kind, ids)
  if has(group.flags, OWNER) then owe_no_more(ids) end
  change('SREM', p .. 'held:' .. group.worker, ids)
  if is_grouped(queue) then limits().vacate_plain(ids, queue) end
  count(queue, 'a', -#ids)
  if not keep then
    if group.flags % 16 >= OWNER or has(group.flags, UNIQUE) then
      for _, id in ipairs(ids) do long_way().unlist(id, group.flags) end
    end
    change('HDEL', RUNS, ids)
    change('HDEL', JOBS, ids)
    return
  end
  local done, ended, at = {}, {}, score(now)
  for i = 1, #ids do
    done[2 * i - 1], done[2 * i] = '0', ids[i]
    ended[2 * i - 1], ended[2 * i] = at, ids[i]
  end
  change('ZADD', p .. 'done:' .. group.kind, done)
  change('ZADD', p .. 'ended:' .. queue, ended)
  count(queue, 'c', #ids)
end

-- `packed` holds id and token of each, 32 bytes, and then how long each ran (double). `refuse` is told of each that is not held, with its
-- place; `otherwise` of each that is not plain, likewise.
local function complete(packed, keep, now, refuse, otherwise)
  local ids, changed, finished = {}, {}, 'c' .. struct.pack('<d', now)
  groups = {}
  local size = #packed / 40
  for i = 1, size do ids[i] = sub(packed, 32 * i - 31, 32 * i - 16) end
  for i, run in ipairs(values(RUNS, ids)) do
    local id, token, took = ids[i], sub(packed, 32 * i - 15, 32 * i), 32 * size + 8 * i - 7
    if not run or byte(run, 1) ~= ACTIVE or sub(run, 49, 64) ~= token then
      refuse(i, id, token, run)
    elseif sub(run, 10, 17) == NO_TIME and is_plain(run) then
      local group = group_of(run)
      group.ids[#group.ids + 1] = id
      if keep then
        changed[#changed + 1] = id
        changed[#changed + 1] = finished .. sub(packed, took, took + 7) .. sub(run, 18)
      end
    else
      otherwise(i, id, struct.unpack('<d', packed, took), run)
    end
  end
  change('HSET', RUNS, changed)
  for _, group in ipairs(groups) do write_group(group, keep, now) end
end
