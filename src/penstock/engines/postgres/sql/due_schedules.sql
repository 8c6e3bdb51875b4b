select {_schedule_columns} from {schema}.schedules
where not paused and next_at <= coalesce(%(now)s::timestamptz, now()) order by next_at, id limit %(limit)s
