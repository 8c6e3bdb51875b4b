#!lua flags=no-writes
-- Dead letters by id.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2… ids
-- Returns each, or '' where there is none
--@ _keys
local answer = {}
for i = 2, #ARGV do answer[i - 1] = call('HGET', p .. 'dead', ARGV[i]) or '' end
return answer
