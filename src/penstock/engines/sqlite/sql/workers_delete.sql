delete from penstock_workers where id = ?
