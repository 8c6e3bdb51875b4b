-- Which of these runs were ended under these very tokens; and which jobs have left no record at all.
select e.id::text, e.token::text, f.id is not null or j.id is not null as ended, o.id is null and p.id is null as traceless
from unnest(%(ids)b::text[]::uuid[], %(tokens)b::text[]::uuid[]) as e(id, token)
left join {schema}.finished f on f.id = e.id and f.token = e.token
left join {schema}.jobs j on j.id = e.id and j.ended_token = e.token
left join {schema}.finished o on o.id = e.id
left join {schema}.jobs p on p.id = e.id
