select token, state from penstock_jobs where id = :id
union all
select token, state from penstock_finished where id = :id
