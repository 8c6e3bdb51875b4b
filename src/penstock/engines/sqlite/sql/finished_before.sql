select id from penstock_finished where queue = ? and state = ? and finished_at < ? order by finished_at limit ?
