select finished_at, id from penstock_finished where queue = ? and state = ? order by finished_at, id limit ?
