"""Scaling laws, fits, allocation, batch size, forecasts and the stop rule."""
