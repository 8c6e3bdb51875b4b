update penstock_finished set recovered_as = ? where id = ?
