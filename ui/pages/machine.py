"""This machine: measure it, and see what it really does."""

from __future__ import annotations

import streamlit as st

from ui import machine_page
from ui.text import Words

machine_page.draw(Words(language=st.session_state["lang"]))
