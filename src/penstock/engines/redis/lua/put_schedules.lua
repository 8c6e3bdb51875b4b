#!lua
-- Add schedules, or change those that are there.
-- KEYS 1 prefix
-- ARGV 1 now or ''; then for each: id, and the schedule, see _schedules.lua
--@ _keys
--@ _base
--@ _more
--@ _schedules
local now = time_of(ARGV[1])

local function change_to(id, old, new)
  if old.s == new.s and old.o == new.o then return end
  local is_due = old.n and tonumber(old.n) <= now
  if old.s ~= new.s and not is_due and not old.p then old.n = new.n end
  old.s, old.o = new.s, new.o
  write_schedule(id, old)
end

for i = 2, #ARGV, 2 do
  local old, new = schedule_of(ARGV[i]), read_more(ARGV[i + 1])
  if old then
    change_to(ARGV[i], old, new)
  else
    if new.p then new.n = nil end
    write_schedule(ARGV[i], new)
  end
end
return 1
