"""Work on tables of the user's own, on SQLite and PostgreSQL."""
