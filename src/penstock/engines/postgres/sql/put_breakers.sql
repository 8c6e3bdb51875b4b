insert into {schema}.breakers as b (
    name, threshold, reset, probes, failure_rate, window_length, minimum, declared_at)
select g.name, g.threshold, g.reset * interval '1 s', g.probes, g.failure_rate, g.window_length * interval '1 s', g.minimum,
    coalesce(%(now)s::timestamptz, now())
from json_to_recordset(%(breakers)s::json) as g (
    name text, threshold integer, reset double precision, probes integer, failure_rate double precision,
    window_length double precision, minimum integer)
order by g.name
on conflict (name) do update
set threshold = excluded.threshold, reset = excluded.reset, probes = excluded.probes,
    failure_rate = excluded.failure_rate, window_length = excluded.window_length, minimum = excluded.minimum,
    declared_at = excluded.declared_at
