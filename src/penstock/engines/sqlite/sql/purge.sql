delete from penstock_dead_letters
where job_id in (select job_id from penstock_dead_letters where failed_at < ? order by failed_at limit ?)
returning queue, recovered_at
