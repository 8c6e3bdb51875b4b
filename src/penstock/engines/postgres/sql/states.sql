select id::text, state from {schema}.jobs where id = any(%(ids)b::text[]::uuid[])
union all
select id::text, state from {schema}.finished where id = any(%(ids)b::text[]::uuid[])
