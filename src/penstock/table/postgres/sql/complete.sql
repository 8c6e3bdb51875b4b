-- Completes those of the rows that are still ours, and says of each whether its output exists.
update {table} as t
set {status} = {completed}, {completed_at} = {now_completed}, {error} = null, {token} = null
from unnest(%(ids)s::{id_type}[], %(tokens)s::text[]) as held (penstock_id, penstock_token)
where t.{id} = penstock_id and t.{token} = penstock_token and t.{status} = {started}
returning t.{id}, {made}
