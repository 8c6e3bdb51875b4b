-- The records of one app, by task, key and name, from after the last of the page before.
select task, key, name, job_id, first_at, expires_at
from penstock_effects
where app = :app
    and (:task is null or task = :task)
    and (:key is null or key = :key)
    and (:name is null or name = :name)
    and (:after_task is null or (task, key, name) > (:after_task, :after_key, :after_name))
order by task, key, name limit :limit
