-- Completes a row that is still ours, and says whether its output exists.
update {table}
set {status} = {completed}, {completed_at} = {now}, {error} = null, {token} = null
where {table}.{id} = :id and {table}.{token} = :token and {table}.{status} = {started}
returning {table}.{id}, {made}
