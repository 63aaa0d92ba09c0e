"""The plan of the scenario: the answer at once, then where it comes from."""

from __future__ import annotations

import streamlit as st

from ui import frame, plan_page
from ui.text import Words

words = Words(language=st.session_state["lang"])
asked = frame.asked()
if asked.plan is None or asked.scenario is None:
    plan_page.wrong(asked.mistakes, words)
else:
    plan_page.draw(asked.scenario, asked.plan, words)
