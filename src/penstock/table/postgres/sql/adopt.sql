-- Rows that somebody started without saying when count as started from now on.
update {table} as t
set {started_at} = {now_started}
where t.{status} = {started} and t.{started_at} is null
