-- Putting jobs in: see _group.lua for how they are laid out. What is not plain goes by `carefully`.

-- Jobs with nothing but a payload, all at once. False, and nothing is done, where one of them is there already.
local function insert_all(group, at)
  local ids, jobs, live, line, two = {}, {}, {}, {}, 0
  for i = 1, group.size do ids[i] = ARGV[at + 2 * i - 2] end
  for _, there in ipairs(values(JOBS, ids)) do
    if there then return false end
  end
  for i, id in ipairs(ids) do
    local one = two + 1
    two = two + 2
    jobs[one], jobs[two] = id, group.times .. ARGV[at + 2 * i - 1]
    live[one], live[two] = '0', id
    line[one], line[two] = group.score, id
  end
  count(group.queue, group.state, change('HSET', JOBS, jobs))
  change('ZADD', p .. 'live:' .. group.kind, live)
  change('ZADD', group.line, line)
  if group.limited then limits().touch(group.lane) end
  return true
end

-- Put in what stands in ARGV from `at` to `last`.
-- Returns place (from 0), id and state, for each that was not created, or is in another state than its delay says.
local function put_in(at, last, now)
  local place, care = 0, nil
  while at <= last do
    local group
    group, at = read_group(at, now)
    if group.extras == '' and insert_all(group, at) then
      at = at + 2 * group.size
    else
      care = carefully()
      at = care.put(group, at, place)
    end
    place = place + group.size
  end
  if care then return care.finish() end
  write_all()
  return {}
end
