-- Takes stuck rows back: completed where their output exists, else queued, and failed after too many times.
-- julianday() also reads what others wrote, with a `T` or a time zone.
update {table}
set {status} = case
        when {made} then {completed}
        when coalesce({table}.{stuck}, 0) >= :most then {failed}
        else {queued}
    end,
    {completed_at} = case when {made} then {now} else {table}.{completed_at} end,
    {started_at} = case
        when {made} or coalesce({table}.{stuck}, 0) >= :most then {table}.{started_at}
    end,
    {error} = case
        when {made} then null
        when coalesce({table}.{stuck}, 0) >= :most then :error
        else {table}.{error}
    end,
    {stuck} = case
        when {made} or coalesce({table}.{stuck}, 0) >= :most then coalesce({table}.{stuck}, 0)
        else coalesce({table}.{stuck}, 0) + 1
    end,
    {attempts} = case
        when {made} or coalesce({table}.{stuck}, 0) >= :most then coalesce({table}.{attempts}, 0)
        else max(coalesce({table}.{attempts}, 0) - 1, 0)
    end,
    {token} = null
where {table}.{id} in (
    select {id}
    {which}
    limit :limit
)
returning {id}, {status}
