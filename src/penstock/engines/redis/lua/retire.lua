#!lua flags=allow-oom
-- A worker ends in good order. If it holds jobs after all, the next rescue takes them.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 worker
--@ _keys
--@ _workers
give_up(ARGV[2])
bury_worker(ARGV[2])
return 1
