-- Each side in the order of its primary key, at most a page of each.
select * from (
    ({_unfinished} where {unfinished_where} order by jobs.id desc limit %(limit)s)
    union all
    ({_finished} where {finished_where} order by finished.id desc limit %(limit)s)
) page
order by id collate "C" desc limit %(limit)s
