-- Its columns, their types, and the length of text that is bounded.
select
    a.attname,
    format_type(a.atttypid, null),
    case when a.atttypid in ('varchar'::regtype, 'bpchar'::regtype) and a.atttypmod > 4 then a.atttypmod - 4 end
from pg_attribute as a
where a.attrelid = to_regclass(%(name)s) and a.attnum > 0 and not a.attisdropped
