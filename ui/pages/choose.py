"""Accelerators ranked for the scenario."""

from __future__ import annotations

import streamlit as st

from ui import choose_page, frame, plan_page
from ui.text import Words

words = Words(language=st.session_state["lang"])
asked = frame.asked()
if asked.scenario is None:
    plan_page.wrong(asked.mistakes, words)
else:
    choose_page.draw(asked.scenario, words)
