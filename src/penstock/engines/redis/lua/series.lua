#!lua flags=no-writes
-- One look at the minutes, or the quarters of an hour, of a time: so many are looked at, and no more.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 from and 3 before which time (us); 4 queue or ''; 5 "minute" or "quarter"
-- Returns where to look next (us), or '' where nothing is left; then when it began (us), "queue:task", of a quarter "queue:", and
-- measures, packed, in turn
--@ _keys
--@ _series
