select * from penstock_finished where id = ?
