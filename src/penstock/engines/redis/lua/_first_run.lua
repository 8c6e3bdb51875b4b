-- The run of a job that is claimed for the first time, in the layout of _run.lua: what stands before the token…
local function run_head(now) return struct.pack('<c1ddBHHHddd', 'a', 0, 0, 0, 1, 0, 0, 0, now, now) end

-- …and what follows it, which is the same for all of a kind that are claimed together.
local function run_tail(base, worker, request)
  local low, high = base:byte(23, 24)
  local name = base:sub(17, 24 + low + 256 * high)
  return name:sub(1, 1) .. name:sub(7, 8) .. struct.pack('<BBH', #worker, #request, 0) .. name:sub(9) .. worker .. request
end
