delete from penstock_history where id in (select value from json_each(?))
