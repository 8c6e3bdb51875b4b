select count(*) as n from (select 1 from penstock_jobs where owner = :owner limit :most)
