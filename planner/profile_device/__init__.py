"""From a profile file to what the engine needs: rates of products, traffic, attention, launches.

Knows the file format and nothing of the package that writes it; needs numpy only.
"""
