#!lua
-- Put a debounced job off, with all that a newcomer brings: refused where memory is full.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2… the newcomer, under the id of the one that is put off, see _group.lua
-- Returns 1; 0 where that one is not there, or has been claimed: it is left as it is
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _more
--@ _limited
--@ _lines
--@ _flows
--@ _holding
--@ _group
--@ _insert
--@ _standing
--@ _debounce
local now = time_of(ARGV[1])
local group, at = read_group(2, now)
local job = read_job(group, at)
local holder, _, debounced = holder_of(group.kind .. ':' .. job.u, now)
if holder ~= job.id or not debounced or not standing(job.id) then return 0 end
replace(job.id, job)
return 1
