#!lua
-- Put jobs in, all or none: refused as a whole where memory is full.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2… the jobs, see _group.lua
-- Returns as `put_in` in _enqueue.lua
--@ _alone
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _limited
--@ _group

local care_made

-- Made where the first is needed: making all these functions takes longer than to put a plain job in.
local function carefully()
  if care_made then return care_made end
  --@ _more
  --@ _lines
  --@ _flows
  --@ _holding
  --@ _finish
  --@ _ties
  --@ _insert
  --@ _tie
  --@ _standing
  --@ _debounce
  --@ _careful
  care_made = careful
  return careful
end

--@ _enqueue
return put_in(2, #ARGV, time_of(ARGV[1]))
