"""The application's pages and what they are made of; app.py at the root is its entry."""
