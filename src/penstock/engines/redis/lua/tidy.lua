#!lua flags=allow-oom
-- Drop lanes that nobody waits in, kinds of which nothing is left, keys whose period is over, limits worked off; put jobs
-- of schedules that are gone, or keep nothing apart, back on the shelves of their queues; drop notes, minutes and quarters
-- past their time.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 for how long minutes are kept (us); then schedules that keep nothing apart
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _more
--@ _limited
--@ _notes
for _, lane in ipairs(call('HKEYS', p .. 'lanes')) do
  if call('EXISTS', p .. 'lane:' .. lane) == 0 then call('HDEL', p .. 'lanes', lane) end
end
for _, kind in ipairs(call('SMEMBERS', p .. 'kinds')) do
  local left = call('EXISTS', p .. 'live:' .. kind, p .. 'done:' .. kind, p .. 'bad:' .. kind,
    p .. 'dead:open:' .. kind, p .. 'dead:past:' .. kind)
  if left == 0 then call('SREM', p .. 'kinds', kind) end
end
local now = time_of(ARGV[1])
for _, field in ipairs(call('ZRANGEBYSCORE', p .. 'periods', '-inf', score(now), 'LIMIT', 0, 1000)) do
  local held = call('HGET', p .. 'keys', field)
  if held and #held > 16 and struct.unpack('<d', held, 17) <= now then call('HDEL', p .. 'keys', field) end
  call('ZREM', p .. 'periods', field)
end

local function put_back(list, shelf)
  local ids = call('ZRANGE', p .. list .. shelf, 0, 999)
  for i, raw in ipairs(values(RUNS, ids)) do
    if raw then
      local run, more = read_run(raw), more_of(ids[i])
      more.s = nil
      call('HSET', MORES, ids[i], write_more(more))
      call('ZADD', p .. list .. queue_of(run.kind), score(run.finished), ids[i])
    end
  end
  change('ZREM', p .. list .. shelf, ids)
end

local unshelved = {}
for i = 3, #ARGV do unshelved[ARGV[i]] = true end
for _, shelf in ipairs(call('SMEMBERS', p .. 'shelves')) do
  local schedule = sub(shelf, 1, 1) == '@' and sub(shelf, 2)
  if schedule and (unshelved[schedule] or call('HEXISTS', p .. 'schedules', schedule) == 0) then
    put_back('ended:', shelf)
    put_back('troubled:', shelf)
  end
  if call('EXISTS', p .. 'ended:' .. shelf, p .. 'troubled:' .. shelf) == 0 then call('SREM', p .. 'shelves', shelf) end
end
limits().drop_idle(now, 2000)
limits().drop_undeclared(now)
limits().drop_grouped(now)
for _, name in ipairs(call('ZRANGEBYSCORE', NOTE_ENDS, '-inf', score(now), 'LIMIT', 0, 1000)) do
  local kind, key = name:match('^([^:]*):(.*)$')
  drop_note(kind, key)
end
for _, step in ipairs({ 'minute', 'quarter' }) do
  local old = call('ZRANGEBYSCORE', p .. step .. 's', '-inf', '(' .. score(now - tonumber(ARGV[2])), 'LIMIT', 0, 100)
  for _, at in ipairs(old) do call('UNLINK', p .. step .. ':' .. at) end
  change('ZREM', p .. step .. 's', old)
end
return 1
