#!lua flags=no-writes
-- One look at a flow and its members, in the order in which they were put in: so many bytes, and no more.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 flow; 3 the place of the first member to tell of
-- Returns the flow (see _flows.lua), the place after the last member told of, or '' where that is all; then for each
--      id, and what get.lua returns; nothing for no such flow
--@ _keys
--@ _base
--@ _more
--@ _lines
local MOST, MOST_BYTES = 500, 4 * 1048576
local flow, first = call('HGET', p .. 'flows', ARGV[2]), tonumber(ARGV[3])
if not flow then return false end
local ids = call('ZRANGE', p .. 'flow:' .. ARGV[2], first, first + MOST - 1)
local answer, bytes, next = { flow, '' }, 0, #ids == MOST and first + MOST
for i, id in ipairs(ids) do
  local base, run = call('HGET', JOBS, id), call('HGET', RUNS, id)
  if base then
    for _, value in ipairs({ id, base, run or '', state_of(id, run), told_of(id, base) }) do
      answer[#answer + 1] = value
    end
    bytes = bytes + #base + (run and #run or 0)
  end
  if bytes > MOST_BYTES and i < #ids then
    next = first + i
    break
  end
end
answer[2] = next and tostring(next) or ''
return answer
