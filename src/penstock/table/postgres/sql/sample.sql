-- About how many rows have each status, by some of the table's pages. A partitioned table has none of its own.
with share as materialized (
    select least(100.0, 100.0 * %(pages)s * current_setting('block_size')::float8 / greatest(1.0, pg_relation_size(
        '{table}'::regclass
    ) + coalesce((select sum(pg_relation_size(relid)) from pg_partition_tree('{table}') where isleaf and level > 0), 0)
    )) as percent
)
select {status}::text, (count(*) * 100.0 / max((select percent from share)))::bigint
from {table} tablesample system ((select percent from share))
group by 1
order by 1
