select l.lane from {schema}.lanes l
where not exists (select from {schema}.jobs j where j.lane = l.lane and j.state = 'waiting')
order by l.lane for update skip locked
