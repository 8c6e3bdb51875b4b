#!lua
-- As settle.lua, where runs that complete put jobs in: refused as a whole where memory is full.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2… as of settle.lua; after the ends, how many of them put jobs in, and for each: its place (from 1),
--      how many values its jobs take, and those, see _group.lua; then the want or nothing
-- Returns as settle.lua
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
--@ _bury
--@ _ending
--@ _exits
local function long_way() return exits end
--@ _complete
--@ _first_run
--@ _claim
--@ _group
--@ _insert
--@ _tie
--@ _standing
--@ _debounce
--@ _careful
local function carefully() return careful end
--@ _enqueue
local now, want_at, followers = time_of(ARGV[1]), 8 + tonumber(ARGV[6]), {}
for _ = 1, tonumber(ARGV[want_at - 1]) do
  local first, last = want_at + 2, want_at + 1 + tonumber(ARGV[want_at + 1])
  followers[tonumber(ARGV[want_at])] = { first, last }
  want_at = last + 1
end

local function follow(i)
  local jobs = followers[i]
  if jobs then put_in(jobs[1], jobs[2], now) end
end
--@ _settle
