-- Where a relation is, and what kind of one. No row: there is none of this name.
select n.nspname, c.relkind in ('r', 'p'), c.relkind = 'p'
from pg_class as c
join pg_namespace as n on n.oid = c.relnamespace
where c.oid = to_regclass(%(name)s)
