-- Its indexes: whether each is whole, and which one column it keeps unique in every row that has a value.
select
    i.relname,
    x.indisvalid,
    case
        when x.indisunique and x.indisvalid and x.indnkeyatts = 1 and x.indexprs is null
            and coalesce(pg_get_expr(x.indpred, x.indrelid), '') in (
                '', format('(%%I IS NOT NULL)', a.attname)
            )
        then a.attname
    end
from pg_index as x
join pg_class as i on i.oid = x.indexrelid
left join pg_attribute as a on a.attrelid = x.indrelid and a.attnum = x.indkey[0]
where x.indrelid = to_regclass(%(name)s)
