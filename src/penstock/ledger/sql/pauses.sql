select queue_name, paused from {queues}
