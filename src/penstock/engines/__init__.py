"""Storage and nothing else. Each engine is a stranger to the others."""
