"""Figures as pure functions of results and words; nothing here knows Streamlit."""
