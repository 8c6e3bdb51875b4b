update penstock_workers set ordered = ? where id = ?
