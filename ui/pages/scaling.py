"""How to split a budget between parameters and data, and what it buys."""

from __future__ import annotations

import streamlit as st

from ui import plan_page, scaling_page
from ui.frame import asked
from ui.text import Words

words, now = Words(language=st.session_state["lang"]), asked()
if now.scenario is None or now.plan is None:
    plan_page.wrong(now.mistakes, words)
else:
    scaling_page.draw(now.scenario, now.plan, words)
