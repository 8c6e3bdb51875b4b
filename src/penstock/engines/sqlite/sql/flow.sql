select * from penstock_flows where id = ?
