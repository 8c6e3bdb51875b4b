select id, state from penstock_finished where id in (select value from json_each(?))
