"""Planned against really measured training steps on this machine."""
