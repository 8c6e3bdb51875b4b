select at, queue, task, measures::text from {schema}.minutes
where at >= %(since)s and at < %(until)s and (%(queue)s::text is null or queue = %(queue)s)
order by at, queue, task
