-- Flows of which no record is left, among the oldest: two who removed the last ones at once each saw the other's.
delete from {schema}.flows f
where f.id = any(array(select o.id from {schema}.flows o where o.unfinished <= 0 order by o.id limit 1000))
    and f.unfinished <= 0 and not exists (select from {schema}.finished m where m.flow = f.id)
