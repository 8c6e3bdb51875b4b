-- Asked again under the lock: a job may have been parked between the two.
delete from {schema}.lanes l
where l.lane = any(%(lanes)b::text[])
    and not exists (select from {schema}.jobs j where j.lane = l.lane and j.state = 'waiting')
