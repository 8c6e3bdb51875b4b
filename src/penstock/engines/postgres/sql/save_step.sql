with mine as (
    select j.id, j.stepped from {schema}.jobs j
    where j.id = %(id)s::uuid and j.token = %(token)s::uuid and j.state || '' = 'active' for update
),
flagged as (
    update {schema}.jobs j set stepped = true from mine m where j.id = m.id and not m.stepped
)
insert into {schema}.steps (job_id, name, value) select m.id, %(name)s, %(value)s from mine m
on conflict (job_id, name) do update set value = excluded.value
returning true
