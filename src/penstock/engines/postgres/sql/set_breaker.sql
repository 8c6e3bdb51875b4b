-- Closed, with nothing counted; or open, until it is tried again. Answers one row where there is such a breaker.
with changed as (
update {schema}.breakers b
set circuit = %(circuit)s, failures = 0, runs = 0, probing = '{}', since = coalesce(%(now)s::timestamptz, now()),
    window_from = coalesce(%(now)s::timestamptz, now())
where b.name = %(breaker)s
returning b.name, b.circuit
)
select name, case circuit when 'closed' then {schema}.wake_behind(name) end from changed
