update penstock_groups set spent_until = ? where name = ?
