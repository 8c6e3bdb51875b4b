select finished_at, id from penstock_finished
where coalesce(shelf, queue) = ? and state = ? and not traits & 64
order by finished_at, id limit ?
