"""The application: the router and what every page shares. Start it with `forerun app`."""

import streamlit as st

from ui import frame

PAGES = (  # file in ui/pages, icon; a page's title is page.NAME in ui/words
    ("plan", ":material/flight_takeoff:"),
    ("choose", ":material/leaderboard:"),
    ("search", ":material/manage_search:"),
    ("scaling", ":material/trending_down:"),
    ("stop", ":material/stop_circle:"),
    ("machine", ":material/speed:"),
    ("accuracy", ":material/target:"),
)

frame.configure()
words = frame.words()
page = st.navigation(
    [
        st.Page(f"ui/pages/{name}.py", title=words(f"page.{name}"), icon=icon, url_path=name)
        for name, icon in PAGES
    ],
    position="top",
)
frame.ask(words, page.url_path)
page.run()
