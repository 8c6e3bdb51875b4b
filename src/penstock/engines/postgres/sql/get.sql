{_unfinished} where id = %(id)s::uuid
union all
{_finished} where id = %(id)s::uuid
