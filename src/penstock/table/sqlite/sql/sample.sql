-- About how many rows have each status, by rows picked at random: so many of the places where one could be are taken.
with recursive
bounds (low, span) as materialized (
    select (select min(rowid) from {table}), (select max(rowid) from {table}) - (select min(rowid) from {table}) + 1
),
pick (n, place) as materialized (
    select 1, (select low + abs(random() % span) from bounds)
    union all
    select n + 1, low + abs(random() % span) from pick, bounds where n < :picks
)
select {status}, cast(count(*) * 1.0 * (select span from bounds) / :picks as integer)
from pick
cross join {table} on {table}.rowid = pick.place
group by 1
order by 1
