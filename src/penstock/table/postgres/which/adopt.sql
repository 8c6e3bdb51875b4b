from {table} as t
where t.{status} = {started} and t.{started_at} is null
    and (%(only)s::{id_type} is null or t.{id} = %(only)s::{id_type})
    and t.{id} <> all (%(aside)s::{id_type}[])
