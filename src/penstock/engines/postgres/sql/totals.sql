select queue, task, measures::text from {schema}.totals order by queue, task
