from {table} as t
where t.{status} = {queued} and t.{retry_at} <= {now_retry}
    and (%(only)s::{id_type} is null or t.{id} = %(only)s::{id_type})
    and t.{id} <> all (%(aside)s::{id_type}[])
order by t.{retry_at}
