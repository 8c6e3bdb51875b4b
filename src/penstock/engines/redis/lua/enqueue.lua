#!lua
-- Put jobs in, all or none: refused as a whole where memory is full.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2… the jobs, see _insert.lua
-- Returns as `put_in` in _enqueue.lua
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _more
--@ _lines
--@ _flows
--@ _finish
--@ _ties
--@ _insert
--@ _tie
--@ _enqueue
return put_in(2, #ARGV, time_of(ARGV[1]))
