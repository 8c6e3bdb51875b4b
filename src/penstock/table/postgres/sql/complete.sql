-- Completes a row that is still ours, and says whether its output exists. No row: it has passed on.
update {table} as t
set {status} = {completed}, {completed_at} = {now_completed}, {error} = null, {token} = null
where t.{id} = %(id)s and t.{token} = %(token)s and t.{status} = {started}
returning {made}
