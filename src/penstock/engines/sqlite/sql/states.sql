select id, state from penstock_jobs where id in (select value from json_each(:ids))
union all
select id, state from penstock_finished where id in (select value from json_each(:ids))
