select at, queue, measures::text from {schema}.quarters
where at >= %(since)s and at < %(until)s and (%(queue)s::text is null or queue = %(queue)s)
order by at, queue
