select 1 from penstock_workers where id = ?
