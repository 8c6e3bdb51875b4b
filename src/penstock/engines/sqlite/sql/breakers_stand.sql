update penstock_breakers set standing = ? where name = ?
