"""Optuna's storage for studies: SQLite, PostgreSQL or a journal file, shared by many workers."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.errors import PlannerError
from planner.store.patience import lost_database, patient
from planner.store.place import without_password

if TYPE_CHECKING:
    from optuna.storages import BaseStorage, RDBStorage

HEARTBEAT = 10  # s between two signs of life of a worker
GRACE = 40  # s without one after which its trial is given to another
RETRIES = 3  # of a trial whose workers died
LOCK_WAIT = 60.0  # s that a writer waits for SQLite's lock
PATIENCE = 60.0  # s that a database may be away
JOURNAL = ("journal:", ".journal")  # how a URL says that it is a journal file
CALLS = (
    "create_new_study",
    "delete_study",
    "get_all_studies",
    "get_study_directions",
    "get_study_id_from_name",
    "get_study_name_from_id",
    "get_study_system_attrs",
    "get_study_user_attrs",
    "get_trial",
    "get_trial_id_from_study_id_trial_number",
    "record_heartbeat",
    "set_study_system_attr",
    "set_study_user_attr",
    "set_trial_intermediate_value",
    "set_trial_state_values",
    "set_trial_system_attr",
    "set_trial_user_attr",
    "_create_new_trial",
    "_get_best_trial_id",
    "_get_stale_trial_ids",
    "_get_trials",
    "_set_trial_param",
)


def study_storage(
    url: str, *, heartbeat: int = HEARTBEAT, grace: int = GRACE, patience: float = PATIENCE
) -> BaseStorage:
    """The storage behind a URL: sqlite:///FILE, postgresql://.., or journal:FILE.

    Raises PlannerError where it cannot be reached or is not one of these.
    """
    if url.startswith(JOURNAL[0]) or url.endswith(JOURNAL[1]):
        return _journal(url)
    scheme = url.partition("://")[0].partition("+")[0]
    if scheme not in ("sqlite", "postgresql") or "://" not in url:
        remedy = "write sqlite:///FILE, postgresql://USER@HOST/DATABASE or journal:FILE"
        raise PlannerError("--storage", without_password(url), remedy)
    storage = _database(_with_driver(url), url, heartbeat, grace)
    _make_patient(storage, url, patience)
    return storage


@contextmanager
def opened(url: str | None, **settings: Any) -> Iterator[BaseStorage | None]:
    """`study_storage` for a while: its connections are closed at the end. None without a URL."""
    if url is None:
        yield None
        return
    storage = study_storage(url, **settings)
    try:
        yield storage
    finally:
        close(storage)


def close(storage: BaseStorage) -> None:
    """Close the connections of a storage."""
    storage.remove_session()
    engine = getattr(storage, "engine", None)
    if engine is not None:
        engine.dispose()


def _journal(url: str) -> BaseStorage:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    path = Path(url.removeprefix(JOURNAL[0]))
    if not path.parent.is_dir():
        raise PlannerError("--storage", url, f"there is no folder {path.parent}")
    try:
        return JournalStorage(JournalFileBackend(str(path)))
    except OSError as error:
        raise PlannerError("--storage", url, f"cannot be opened: {error.strerror}") from None


def _with_driver(url: str) -> str:
    """PostgreSQL through psycopg unless the URL names a driver.

    >>> _with_driver("postgresql://db/forerun")
    'postgresql+psycopg://db/forerun'
    """
    head, rest = url.split("://", 1)
    return f"postgresql+psycopg://{rest}" if head == "postgresql" else url


def _database(url: str, shown: str, heartbeat: int, grace: int) -> RDBStorage:
    import optuna
    import sqlalchemy
    from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback

    logging.getLogger("alembic").setLevel(logging.WARNING)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    settings: dict[str, Any] = {"pool_pre_ping": True}
    if url.startswith("sqlite"):
        settings["connect_args"] = {"timeout": LOCK_WAIT}
        _check_folder(url, shown)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            storage = RDBStorage(
                url,
                engine_kwargs=settings,
                heartbeat_interval=heartbeat,
                grace_period=grace,
                heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(max_retry=RETRIES),
            )
        if url.startswith("sqlite"):
            _write_ahead(storage)
    except ModuleNotFoundError as error:
        remedy = f"needs the package {error.name}: pip install 'psycopg[binary]'"
        raise PlannerError("--storage", without_password(shown), remedy) from None
    except (sqlalchemy.exc.ArgumentError, sqlalchemy.exc.NoSuchModuleError) as error:
        remedy = f"cannot be read as a URL: {str(error).splitlines()[0]}"
        raise PlannerError("--storage", without_password(shown), remedy) from None
    except sqlalchemy.exc.SQLAlchemyError as error:
        raise lost_database(shown, error, 0.0) from None
    except RuntimeError as error:
        remedy = f"holds studies of another version of Optuna: {str(error).splitlines()[0][:120]}"
        raise PlannerError("--storage", without_password(shown), remedy) from None
    return storage


def _check_folder(url: str, shown: str) -> None:
    path = url.partition(":///")[2]
    folder = Path(path).parent if path else Path()
    if path and not folder.is_dir():
        raise PlannerError("--storage", shown, f"there is no folder {folder}")


def _write_ahead(storage: RDBStorage) -> None:
    """Readers and one writer beside each other: SQLite's write-ahead log."""
    import sqlalchemy

    @sqlalchemy.event.listens_for(storage.engine, "connect")
    def _on_connect(connection: Any, _: object) -> None:
        connection.execute(f"PRAGMA busy_timeout = {int(LOCK_WAIT * 1000)}")
        connection.execute("PRAGMA synchronous = NORMAL")

    with storage.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def _make_patient(storage: RDBStorage, url: str, seconds: float) -> None:
    """Every call waits for a database that is away; a state that was already written is written."""
    import sqlalchemy
    from optuna.exceptions import StorageInternalError

    lost = (
        StorageInternalError,
        sqlalchemy.exc.OperationalError,
        sqlalchemy.exc.InterfaceError,
    )
    for name in CALLS:
        call = getattr(storage, name)
        setattr(storage, name, patient(call, url, seconds=seconds, lost=lost))
