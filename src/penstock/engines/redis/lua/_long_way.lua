-- The parts by which runs end, made where the first is needed: a plain completion needs none of them.
local exits_made

local function long_way()
  if exits_made then return exits_made end
  --@ _more
  --@ _lines
  --@ _flows
  --@ _holding
  --@ _finish
  --@ _ties
  --@ _bury
  --@ _ending
  --@ _exits
  exits_made = exits
  return exits
end
