-- Hands a row that is still ours back, or fails it.
update {table} as t
set {status} = %(status)s,
    {error} = coalesce(%(error)s, t.{error}),
    {retry_at} = {now_retry} + %(delay)s::float8 * interval '1 second',
    {attempts} = greatest(coalesce(t.{attempts}, 0) - %(refund)s, 0),
    {started_at} = case when %(again)s then null else t.{started_at} end,
    {token} = null
where t.{id} = %(id)s and t.{token} = %(token)s and t.{status} = {started}
