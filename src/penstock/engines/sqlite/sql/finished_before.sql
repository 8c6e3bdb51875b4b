select id from penstock_finished
where coalesce(shelf, queue) = ? and state = ? and not traits & 64 and finished_at < ?
order by finished_at limit ?
