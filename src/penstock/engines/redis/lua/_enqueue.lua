-- Putting jobs in: see _insert.lua for how they are laid out.

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

-- The job that keeps this one from being made: itself from an earlier try, or the holder of its key, as `holder_of`.
local function in_its_way(job)
  if call('HEXISTS', JOBS, job.id) == 1 then return job.id end
  if job.u then return holder_of(job.group.kind .. ':' .. job.u, job.group.now) end
end

-- Put in what stands in ARGV from `at` to `last`.
-- Returns place (from 0), id and state, for each that was not created, or is in another state than its delay says.
local function put_in(at, last, now)
  local place, to_tie, untied, told, answer = 0, {}, {}, {}, {}
  while at <= last do
    local group
    group, at = read_group(at, now)
    if group.extras == '' and insert_all(group, at) then
      at, place = at + 2 * group.size, place + group.size
    else
      for _ = 1, group.size do
        local job
        job, at = read_job(group, at)
        local there, state, debounced = in_its_way(job)
        if there then
          holders[job.id] = there
          if state then ended[there] = state end
          if debounced and not untied[there] then replace(there, job) end
          told[#told + 1] = { place, there, state }
        elseif not insert(job) then
          to_tie[#to_tie + 1] = job
          untied[job.id] = true
          told[#told + 1] = { place, job.id }
        end
        place = place + 1
      end
    end
  end
  for _, job in ipairs(to_tie) do tie(job) end
  write_all()
  for i, one in ipairs(told) do
    answer[3 * i - 2], answer[3 * i - 1] = one[1], one[2]
    answer[3 * i] = one[3] or state_of(one[2], call('HGET', RUNS, one[2]))
  end
  return answer
end
