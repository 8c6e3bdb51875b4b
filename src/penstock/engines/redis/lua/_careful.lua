-- Jobs that have keys, owners, ties and more, or that may be there already: one by one.

-- The job that keeps this one from being made: itself from an earlier try, or the holder of its key, as `holder_of`.
local function in_its_way(job)
  if call('HEXISTS', JOBS, job.id) == 1 then return job.id end
  if job.u then return holder_of(job.group.kind .. ':' .. job.u, job.group.now) end
end

local to_tie, untied, told = {}, {}, {}
local careful = {}

-- A group of jobs that stand in ARGV from `at` on. Returns what stands behind them.
function careful.put(group, at, place)
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
  return at
end

-- Tie and write what was put in since the last time; tell of it as `put_in` does.
function careful.finish()
  local answer = {}
  for _, job in ipairs(to_tie) do tie(job) end
  write_all()
  for i, one in ipairs(told) do
    answer[3 * i - 2], answer[3 * i - 1] = one[1], one[2]
    answer[3 * i] = one[3] or state_of(one[2], call('HGET', RUNS, one[2]))
  end
  to_tie, untied, told = {}, {}, {}
  return answer
end
