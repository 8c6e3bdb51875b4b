-- Jobs on their way in, as `enqueue.py` lays them out: groups of jobs that share all but their payload.
--   How many, kind, lane ('' the open one), delay (us), head start (s), extras; then for each job its id, its base
--   without times, and what `extras` names: u unique key, k key, o owner, x expire_after (us), t what there is more
--   of it (see _more.lua; its deadline from now on, and under n the name of its flow).
local function read_group(at, now)
  local kind, delay = ARGV[at + 1], tonumber(ARGV[at + 3])
  local group = {
    size = tonumber(ARGV[at]), kind = kind, queue = queue_of(kind), lane = ARGV[at + 2], extras = ARGV[at + 5],
    due = now + delay, times = struct.pack('<dd', now, now + delay), state = delay > 0 and 'd' or 'w', now = now,
  }
  if group.lane == '' then group.lane = group.queue end
  if group.state == 'd' then
    group.line, group.score = p .. 'delayed', score(group.due)
  else
    group.line, group.score = p .. 'lane:' .. group.lane, score(group.due - tonumber(ARGV[at + 4]) * 1000000)
    group.limited = names_of(group.lane) ~= nil
    if not group.limited and group.lane ~= group.queue then
      call('HSETNX', p .. 'lanes', group.lane, 'enqueued there')
    end
    ring(group.queue)
  end
  call('SADD', p .. 'kinds', kind)
  return group, at + 6
end
