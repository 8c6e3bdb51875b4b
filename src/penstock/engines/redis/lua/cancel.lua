#!lua flags=allow-oom
-- Cancel what has not begun; ask the worker of what runs.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 the reason; 3… ids
-- Returns one letter for each: the state it is in afterwards, '-' for no such job
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
--@ _standing
--@ _cancel
local now, told = time_of(ARGV[1]), {}
for i = 3, #ARGV do
  local id = ARGV[i]
  local base, state, run = standing(id)
  if base then
    cancel_now(id, base, run, state, ARGV[2], now)
    state = 'x'
  elseif state == 'a' then
    run = read_run(run)
    if not run.cancel then run.texts.n = ARGV[2] end
    run.cancel = true
    call('HSET', RUNS, id, write_run(run))
    call('SADD', p .. 'cancels:' .. run.worker, id)
  end
  told[#told + 1] = state or '-'
end
return table.concat(told)
