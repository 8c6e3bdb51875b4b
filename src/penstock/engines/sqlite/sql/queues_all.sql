select name, paused from penstock_queues
