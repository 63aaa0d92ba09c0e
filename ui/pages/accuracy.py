"""How wrong the planner is, against published measurements."""

from __future__ import annotations

import streamlit as st

from ui import accuracy_page
from ui.text import Words

accuracy_page.draw(Words(language=st.session_state["lang"]))
