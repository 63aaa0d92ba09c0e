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
HOME = PAGES[0][0]

frame.configure()
words = frame.words()
pages = [
    st.Page(
        f"ui/pages/{name}.py",
        title=words(f"page.{name}"),
        icon=icon,
        url_path="" if name == HOME else name,
        default=name == HOME,
    )
    for name, icon in PAGES
]
typed = st.Page(  # the first page is at /, and people type its name
    frame.nothing, title=pages[0].title, url_path=HOME, visibility="hidden"
)
page = st.navigation([*pages, typed], position="top")
if page.url_path == HOME:
    st.switch_page(pages[0], query_params=st.query_params.to_dict())
frame.ask(words, page.url_path)
page.run()
