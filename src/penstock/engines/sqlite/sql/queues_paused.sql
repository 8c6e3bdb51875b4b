select name from penstock_queues where paused
