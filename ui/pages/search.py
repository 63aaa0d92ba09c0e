"""The best settings for the run under its limits, exact or by trials."""

from __future__ import annotations

import streamlit as st

from ui import plan_page, search_page
from ui.frame import asked
from ui.text import Words

words, now = Words(language=st.session_state["lang"]), asked()
if now.scenario is None:
    plan_page.wrong(now.mistakes, words)
else:
    search_page.draw(now.scenario, words)
