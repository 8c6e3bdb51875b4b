#!lua flags=allow-oom
-- Cancel what waited past its own expiry; end the wait of what was blocked past its deadline.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 how many at most; what is noted 3 on the expired, 4 on those that missed their deadline, 5 where
--      that fails them
-- Returns for each: id, kind, owner or '', state it is in now (letter), '1' where it missed its deadline or '0'
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _more
--@ _limited
--@ _lines
--@ _flows
--@ _holding
--@ _finish
--@ _ties
--@ _bury
--@ _standing
--@ _cancel
local now, limit, expired, answer = time_of(ARGV[1]), tonumber(ARGV[2]), 0, {}

local function tell(id, base, state, missed)
  for _, word in ipairs({ id, base.kind, base.owner or '', state, missed }) do
    answer[#answer + 1] = word
  end
  expired = expired + 1
end

local function past(key) return call('ZRANGEBYSCORE', key, '-inf', score(now), 'LIMIT', 0, limit - expired) end

for _, id in ipairs(past(p .. 'expiring')) do
  local base, state, run = standing(id)
  if base and state ~= 'b' then
    cancel_now(id, base, run, state, ARGV[3], now)
    tell(id, base, 'x', '0')
  else
    call('ZREM', p .. 'expiring', id)
  end
end

local function end_wait(id)
  local verdict = sub(more_of(id).d or '', 9)
  if verdict == 'r' then
    unblock(id, now)
    return 'w'
  end
  local state, note = 'x', ARGV[4]
  if verdict == 'f' then state, note = 'f', ARGV[5] end
  local run = end_blocked(id, state, note, now)
  if run and state == 'f' then bury(id, run, note, nil, now) end
  return state
end

local function miss_deadline(id)
  local raw = call('HGET', JOBS, id)
  local state = end_wait(id)
  if raw then tell(id, read_base(raw), state, '1') end
end

for _, id in ipairs(past(DEADLINES)) do
  if call('HEXISTS', BLOCKED, id) == 1 then
    miss_deadline(id)
    write_all()
  else
    call('ZREM', DEADLINES, id)
  end
end
return answer
