-- Limits: as model/limits.py has them; instants in microseconds. A limit is nothing where there is none of its kind.
local BATCH_SECONDS = 0.05

local function permits(limit, spent, now)
  if not limit.rate then return math.huge end
  local ahead = math.max(spent - now, 0) / 1000000
  return math.max(0, math.floor(limit.burst - ahead * limit.rate + 0.000001))
end

local function spend(limit, spent, now, starts)
  return limit.rate and math.max(spent, now) + starts / limit.rate * 1000000 or spent
end

-- From when on so many may start at once, by the rate.
local function earned_at(limit, spent, some) return spent - (limit.burst - some) / limit.rate * 1000000 end

local function opens_in(limit, spent, now)
  local some = math.max(1, math.min(limit.burst, math.floor(limit.rate * BATCH_SECONDS)))
  return math.max(0, earned_at(limit, spent, some) - now)
end

-- How many may start by a limit; where none may and only time is needed, after how long it is worth asking again.
-- `state` has active, spent and cooled.
local function gate(limit, state, now)
  local left, wait = permits(limit, state.spent, now), nil
  if left == 0 then wait = opens_in(limit, state.spent, now) end
  if state.cooled > now then left, wait = 0, math.max(wait or 0, state.cooled - now) end
  if not limit.concurrency then return left, wait end
  if state.active >= limit.concurrency then return 0, nil end
  return math.min(left, limit.concurrency - state.active), wait
end
