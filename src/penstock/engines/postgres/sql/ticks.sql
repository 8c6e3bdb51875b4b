select due at time zone 'utc', fired_at at time zone 'utc', job_id::text, note from {schema}.ticks
where schedule = %(schedule)s order by ticks.due desc limit %(limit)s
