select * from (
    {_unfinished} where flow = %(flow)s
    union all
    {_finished} where flow = %(flow)s
) members
order by flow_place
