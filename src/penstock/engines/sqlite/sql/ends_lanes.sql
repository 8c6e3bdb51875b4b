select j.id, j.queue, j.lane from temp.penstock_ends as e cross join penstock_jobs as j on j.id = e.id
