"""The user's table in PostgreSQL."""
