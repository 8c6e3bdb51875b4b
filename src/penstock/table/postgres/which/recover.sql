from {table} as t
where t.{status} = {started} and t.{started_at} <= {now_started} - %(after)s::float8 * interval '1 second'
    and (%(only)s::{id_type} is null or t.{id} = %(only)s::{id_type})
    and t.{id} <> all (%(aside)s::{id_type}[])
order by t.{started_at}
