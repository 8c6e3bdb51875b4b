with changed as (
    update {schema}.schedules set paused = %(paused)s::boolean,
        next_at = case when not %(paused)s::boolean then %(next_at)s::timestamptz end
    where id = %(id)s and paused <> %(paused)s::boolean
)
select 1 from {schema}.schedules where id = %(id)s
