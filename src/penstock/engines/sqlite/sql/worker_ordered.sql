select ordered from penstock_workers where id = ?
