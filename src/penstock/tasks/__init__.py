"""What a user declares: queues and tasks, and how their jobs get in."""
