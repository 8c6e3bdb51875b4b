-- One plain job alone in all queues that are asked for: what a claim finds that has waited for work. It is taken before
-- the rest of the script is made, which takes longer than that. Whatever is otherwise is left to the rest; what is
-- written is what `claim` in _claim.lua writes.
local p, call = KEYS[1], redis.call

-- The id, its queue, and the bells of all queues; nothing where there is none or more than one.
local function lone_job()
  local id, queue, bells, wanted = nil, nil, {}, {}
  for i = 8, #ARGV, 2 do
    local found = call('ZRANGE', p .. 'lane:' .. ARGV[i], 0, 1)
    if found[2] or found[1] and (id or tonumber(ARGV[i + 1]) <= 0) then return end
    if found[1] then id, queue = found[1], ARGV[i] end
    bells[#bells + 1], wanted[#wanted + 1] = p .. 'bell:' .. ARGV[i], ARGV[i]
  end
  if not id or call('HGET', p .. 'queues', queue) == '1' then return end
  for _, limited in ipairs(call('HMGET', p .. 'grouped', unpack(wanted))) do
    if limited then return end
  end
  return id, queue, bells
end

if #ARGV <= 15 and tonumber(ARGV[4]) > 0 then
  local worker, request = ARGV[2], ARGV[3]
  local id, queue, bells = lone_job()
  local base = id and call('HGET', p .. 'jobs', id)
  local flags = base and string.byte(base, 17)
  local plain = flags and flags < 128 and flags % 4 < 2 -- neither more of it elsewhere nor an expiry
  if plain and call('EXISTS', p .. 'lanes') == 0 and not call('LPOS', p .. 'void:' .. worker, request) then
    local time, till = ARGV[1] == '' and call('TIME'), call('ZSCORE', p .. 'workers', worker)
    local now = time and time[1] * 1000000 + time[2] or tonumber(ARGV[1])
    local run = till and tonumber(till) > now and run_head(now) .. ARGV[5]:sub(1, 16) .. run_tail(base, worker, request)
    if run and call('HSETNX', p .. 'runs', id, run) == 1 then -- one that had a run before is left to the rest
      local fence = string.format('%.0f', now)
      local last = call('SET', p .. 'fence', fence, 'GET')
      if last and tonumber(last) >= now then
        fence = string.format('%.0f', tonumber(last) + 1)
        call('SET', p .. 'fence', fence)
      end
      call('DEL', p .. 'lane:' .. queue, unpack(bells))
      call('SADD', p .. 'held:' .. worker, id)
      call('HINCRBY', p .. 'counts', queue .. ':waiting', -1)
      call('HINCRBY', p .. 'counts', queue .. ':active', 1)
      return { '1', 0, '', fence, id, base, '' }
    end
  end
end
