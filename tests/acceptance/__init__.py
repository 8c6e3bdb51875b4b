"""Real processes, real signals, real servers."""
