#!lua flags=no-writes
-- Flows, newest first.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 the flow after which to look, or ''; 3 how many at most
-- Returns id and flow (see _flows.lua), in turn
--@ _keys
local top = ARGV[2] == '' and '+' or '(' .. ARGV[2]
local ids = call('ZREVRANGEBYLEX', p .. 'flowlist', top, '-', 'LIMIT', 0, ARGV[3])
local answer = {}
for i, flow in ipairs(values(p .. 'flows', ids)) do
  answer[#answer + 1], answer[#answer + 2] = ids[i], flow or ''
end
return answer
