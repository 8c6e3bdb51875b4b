insert into {schema}.counts (queue, lane, state, n)
    select queue, case was when 'waiting' then nullif(lane, queue) end, was, -count(*) from gone group by 1, 2, 3
    union all
    select queue, null, 'cancelled', count(*) from gone group by 1
