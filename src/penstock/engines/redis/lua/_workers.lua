-- Workers whose time is over.
local function give_up(worker) call('ZADD', p .. 'workers', 'XX', 0, worker) end

-- Forget a worker that was given up and holds nothing any more.
local function bury_worker(worker)
  local till = call('ZSCORE', p .. 'workers', worker)
  if till and tonumber(till) > 0 or call('EXISTS', p .. 'held:' .. worker) == 1 then return end
  call('ZREM', p .. 'workers', worker)
  call('HDEL', p .. 'worker', worker)
  call('HDEL', p .. 'ordered', worker)
  call('HDEL', p .. 'memory', worker)
  call('DEL', p .. 'void:' .. worker, p .. 'cancels:' .. worker)
end
