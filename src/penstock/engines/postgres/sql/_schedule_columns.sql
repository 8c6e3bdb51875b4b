id, spec, source, next_at at time zone 'utc', paused, last_due at time zone 'utc', last_job::text
