"""The user's table in an SQLite file."""
