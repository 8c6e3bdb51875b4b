select queue, task, measures from penstock_totals order by queue, task
