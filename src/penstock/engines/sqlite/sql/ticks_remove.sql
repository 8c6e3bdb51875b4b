delete from penstock_ticks where schedule in (select value from json_each(?))
