"""When to stop, from a training log."""

from __future__ import annotations

import streamlit as st

from ui import stop_page
from ui.text import Words

stop_page.draw(Words(language=st.session_state["lang"]))
