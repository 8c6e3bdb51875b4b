#!lua flags=no-writes
-- What is counted, and which queues are paused.
-- KEYS 1 prefix
-- ARGV 1 now or ''
-- Returns "queue:state" and number, in turn; queue and '1' paused or '0', in turn
--@ _keys
return { call('HGETALL', p .. 'counts'), call('HGETALL', p .. 'queues') }
