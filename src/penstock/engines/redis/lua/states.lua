#!lua flags=no-writes
-- The states of many jobs.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2… ids
-- Returns one letter for each, '-' for no such job
--@ _keys
--@ _base
--@ _lines
local told = {}
for i = 2, #ARGV do
  local id = ARGV[i]
  told[#told + 1] = call('HEXISTS', JOBS, id) == 1 and state_of(id, call('HGET', RUNS, id)) or '-'
end
return table.concat(told)
