-- Jobs on their way in that wait for others.
local holders = {} -- of keys that were taken: the job that came -> the one that holds it

-- How a job ended, nothing where it has not, or is not there yet; and the one it was recovered as.
local function end_of(id)
  if ended[id] then return ended[id] end
  local run = call('HGET', RUNS, id)
  local state = run and sub(run, 1, 1)
  if state == 'c' or state == 'f' or state == 'x' then return state, read_run(run).texts.a end
end

-- Whom an edge leads to, and how that one ended: where it waits for a failed job that was recovered, to the heir.
local function follow(upstream, rule)
  local state, heir = end_of(upstream)
  while rule == 'w' and state and heir do
    upstream = heir
    state, heir = end_of(upstream)
  end
  return upstream, state
end

-- Whether one that has come has left nothing that could be waited for.
local function is_gone(id) return call('HEXISTS', JOBS, id) == 0 and call('HEXISTS', p .. 'dead', id) == 0 end

-- What its edges come to now: those that are left, and the note of one that cancels it. In capitals, see `ties.py`, what
-- is done when one ends badly that is known to have come.
local function weigh(edges)
  local all, left, seen = {}, {}, {}
  local free, note
  for i = 1, #edges, 17 do
    local letter = sub(edges, i + 16, i + 16)
    local rule = letter:lower()
    local named = sub(edges, i, i + 15)
    local upstream, state = follow(holders[named] or named, rule)
    if letter ~= rule and not state and is_gone(upstream) then state = 'c' end
    if not seen[upstream] then
      seen[upstream] = true
      all[#all + 1] = upstream .. rule
      if not state or rule == 'w' and state ~= 'c' then
        left[#left + 1] = upstream .. rule
      elseif state ~= 'c' and not free and not note then
        if rule == 'c' then free = true end
        if rule == 'f' then note = note_on(upstream) end
      end
    end
  end
  return table.concat(all), not free and left or {}, note
end

local function block(id, left, more)
  local edges = {}
  for _, edge in ipairs(left) do
    flag(sub(edge, 1, 16))
    edges[#edges + 1], edges[#edges + 2] = '0', sub(edge, 1, 16) .. id .. sub(edge, 17)
  end
  change('ZADD', EDGES, edges)
  call('HSET', BLOCKED, id, #left)
  if more.d then call('ZADD', DEADLINES, score((struct.unpack('<d', more.d))), id) end
end

local function tie(job)
  local id, group, more = job.id, job.group, more_of(job.id)
  local all, left, note = weigh(more.a)
  more.a = all
  call('HSET', MORES, id, write_more(more))
  if note then
    count(group.queue, 'b', 1)
    end_blocked(id, 'x', note, group.now)
    write_all()
  elseif #left > 0 then
    block(id, left, more)
    count(group.queue, 'b', 1)
  else
    stand_in_line(job)
  end
end
