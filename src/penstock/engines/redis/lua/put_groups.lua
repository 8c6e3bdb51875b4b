#!lua
-- Declare limits.
-- KEYS 1 prefix
-- ARGV 1 now or ''; then for each: name, and the group as declared, see _groups.lua
-- Returns those whose lanes are to take their places anew
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _more
--@ _limited
--@ _lines

-- The lane of a job that runs, by its id as people know it.
local function lane_of_run(text)
  local id = text:gsub('-', ''):gsub('%x%x', function(hex) return string.char(tonumber(hex, 16)) end)
  local base, run = call('HGET', JOBS, id), call('HGET', RUNS, id)
  return base and run and lane_of(read_base(base), read_run(run))
end

local now = time_of(ARGV[1])
local changed, DECLARED = {}, p .. 'groups'
for i = 2, #ARGV, 2 do
  local name, new = ARGV[i], ARGV[i + 1]
  call('HSET', p .. 'declared', 'g:' .. name, score(now))
  if call('HGET', DECLARED, name) ~= new then
    local queue = name:match('^[^>]*')
    call('HSET', DECLARED, name, new)
    note_grouped(queue)
    ring(queue)
    changed[#changed + 1] = name
  end
end
if #changed > 0 then limits().forget_probes(lane_of_run) end
write_all()
return changed
