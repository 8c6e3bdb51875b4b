-- All but the rest of a period.
delete from penstock_keys
where queue = :queue and task = :task and key = :key and job_id = :id and (until is null or until <= :now)
