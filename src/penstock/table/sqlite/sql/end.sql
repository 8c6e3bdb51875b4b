-- Hands a row that is still ours back, or fails it.
update {table}
set {status} = :status,
    {error} = coalesce(:error, {table}.{error}),
    {retry_at} = strftime('%Y-%m-%d %H:%M:%f', {now}, :delay || ' seconds'),
    {attempts} = max(coalesce({table}.{attempts}, 0) - :refund, 0),
    {started_at} = case when :again then null else {table}.{started_at} end,
    {token} = null
where {table}.{id} = :id and {table}.{token} = :token and {table}.{status} = {started}
