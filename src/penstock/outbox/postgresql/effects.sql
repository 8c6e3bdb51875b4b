-- The records of one app, by task, key and name, from after the last of the page before.
select task, key, name, job_id::text, first_at, expires_at
from penstock_effects
where app = %(app)s
    and (%(task)s::text is null or task = %(task)s)
    and (%(key)s::text is null or key = %(key)s)
    and (%(name)s::text is null or name = %(name)s)
    and (%(after_task)s::text is null or (task, key, name) > (%(after_task)s, %(after_key)s, %(after_name)s))
order by task, key, name limit %(limit)s
