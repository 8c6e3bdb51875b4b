select at, queue, task, measures from penstock_minutes
where at >= :since and at < :until and (:queue is null or queue = :queue)
order by at, queue, task
