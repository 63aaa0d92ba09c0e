"""State that outlives a command: one database, SQLite in the user's folder or a URL for a team."""
