delete from penstock_notes where kind = ? and key in (select value from json_each(?))
returning expires_at
