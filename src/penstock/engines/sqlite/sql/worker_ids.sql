select id from penstock_workers order by started_at, id
