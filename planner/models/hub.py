"""The config.json of a model on the Hugging Face hub: that one file, and nothing of it is run."""

from __future__ import annotations

from pathlib import Path

from planner.errors import PlannerError


def download_config(name: str) -> Path:
    """Path of the config.json of `name` (ORG/NAME), downloaded or from the local cache.

    Raises PlannerError when the model is absent, private or gated, or the hub out of reach.
    """
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    try:
        offline = not _hub_resolves()
        return Path(hf_hub_download(name, "config.json", local_files_only=offline))
    except GatedRepoError:
        remedy = "is gated: accept its terms on the hub and run `hf auth login`"
    except RepositoryNotFoundError:
        remedy = "is not on the hub, or private: check the name or run `hf auth login`"
    except LocalEntryNotFoundError:
        remedy = "the hub cannot be reached and the config is not cached: give a config.json"
    except EntryNotFoundError:
        remedy = "has no config.json: give one by its path"
    except Exception as error:
        remedy = f"the hub could not be asked ({type(error).__name__}): give a config.json"
    raise PlannerError("model", f"hf:{name}", remedy)


def _hub_resolves() -> bool:
    """Whether the hub's host has an address: without one, a download would retry for long."""
    import socket
    from urllib.parse import urlsplit
    from urllib.request import getproxies

    from huggingface_hub.constants import ENDPOINT

    if getproxies():
        return True  # the proxy looks the name up
    try:
        socket.getaddrinfo(urlsplit(ENDPOINT).hostname, 443)
    except OSError:
        return False
    return True
