"""Accelerators ranked for the scenario; it need not say a machine."""

from __future__ import annotations

import streamlit as st

from ui import choose_page, frame, plan_page, scenario, state
from ui.text import Words

words = Words(language=st.session_state["lang"])
asked = frame.asked()
wanted = asked.scenario or scenario.without_machine(state.values())
if wanted is None:
    plan_page.wrong(asked.mistakes, words)
else:
    choose_page.draw(wanted, words)
