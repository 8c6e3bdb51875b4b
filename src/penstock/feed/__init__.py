"""What happens to jobs, as it happens, for those who watch.

Workers and clients publish events into the engine's feed, in batches and only while somebody listens; each
process that has listeners reads the feed once and hands the events on. Events are told as well as can be:
what a job *is* says its record. Where something is missing the listener is told `resync`, never nothing.
"""
