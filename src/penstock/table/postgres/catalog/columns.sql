-- Its columns: their types, what those are made of, the length of text that is bounded, the values of an enum.
select
    a.attname,
    format_type(a.atttypid, null),
    format_type(b.oid, null),
    b.typcategory,
    case when b.oid in ('varchar'::regtype, 'bpchar'::regtype) and a.atttypmod > 4 then a.atttypmod - 4 end,
    (select array_agg(e.enumlabel::text order by e.enumsortorder) from pg_enum as e where e.enumtypid = b.oid)
from pg_attribute as a
join pg_type as t on t.oid = a.atttypid
join pg_type as b on b.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
where a.attrelid = to_regclass(%(name)s) and a.attnum > 0 and not a.attisdropped
