with moment as (select coalesce(%(now)s::timestamptz, now()) as now),
held as materialized (
    select j.id from {schema}.jobs j
    where j.id = any(%(ids)b::text[]::uuid[]) and j.state = 'delayed' order by j.id for update
),
ready as (
    update {schema}.jobs j
    set state = 'waiting', due_at = moment.now, rank = {schema}.rank_of(moment.now, j.priority)
    from held h, moment where j.id = h.id
    returning j.queue, j.lane
),
{_telling_ready}
select (select count(*) from ready), woken.n from woken
