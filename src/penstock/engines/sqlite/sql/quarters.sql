select at, queue, measures from penstock_quarters
where at >= :since and at < :until and (:queue is null or queue = :queue)
order by at, queue
