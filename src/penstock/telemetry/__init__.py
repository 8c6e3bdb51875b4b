"""What Penstock tells of itself: events in the log, counts, traces. Whoever runs or asks may use it."""
