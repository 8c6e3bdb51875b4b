#!lua flags=no-writes
-- What is counted, which queues are paused, and what has waited longest by the first of each lane.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 how many lanes under limits are looked at in each queue; '': none at all
-- Returns "queue:state" and number, in turn; queue and '1' paused or '0', in turn; queue and when it was due (us), in turn
--@ _keys
--@ _base
--@ _run
--@ _queues
