"""`forerun search`: the best configuration of a run under its limits, and the front."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from planner.cli.output import note, print_json
from planner.cli.progress import progress, told_tracing
from planner.cli.search_export import Wanted, add_export, exported, to_json, wanted
from planner.cli.search_options import add_aim, add_restrictions, restrictions_of, weights_of
from planner.errors import PlannerError
from planner.quantities import COUNT, read_whole
from planner.run import Run, add_run_flags, run_from_args
from planner.search.answer import Answer
from planner.search.learned import Trials
from planner.search.points import Aim
from planner.search.restrictions import Restrictions
from planner.search.space import Space, space
from planner.store.place import default_url

HELP = "the best configuration under memory, deadline and budget, and the Pareto front"


def configure(parser: argparse.ArgumentParser) -> None:
    add_aim(parser)
    add_restrictions(parser)
    parser.add_argument(
        "--free-batch",
        action="store_true",
        help="also other global batches, up to the critical one, at equal final loss",
    )
    for flag, metavar, text in (
        ("--trials", "N", "also search by N trials (Optuna) and compare with the exact answer"),
        ("--seed", "N", "of the trials (0)"),
        ("--storage", "URL", "of the study: sqlite:///FILE, postgresql://.. or journal:FILE"),
        ("--study", "NAME", "of the study; the same name goes on with it"),
    ):
        parser.add_argument(flag, metavar=metavar, help=text)
    parser.add_argument(
        "--several", action="store_true", help="trials take time, cost and energy apart"
    )
    parser.add_argument(
        "--worker", action="store_true", help="only run trials of the study, beside other workers"
    )
    parser.add_argument(
        "--measure",
        action="store_true",
        help="trials that really train --model file.py:function here, with each setting",
    )
    parser.add_argument("--device", metavar="NAME", help="of --measure: cpu or cuda:0")
    parser.add_argument("--save", metavar="FILE", help="write the best as a run file")
    add_export(parser)
    add_run_flags(parser)


def run(args: argparse.Namespace) -> int:
    limits = _limits(args)
    aim = _aim(args)
    trials = _trials(args)
    which = wanted(args)
    if args.measure:
        return _measured(args, limits, trials)
    asked = run_from_args(args)
    told_tracing(asked.model)
    found = _space(asked, limits, which)
    if args.worker:
        return _worker(args, found, aim, trials)
    exact, answer = _exhaustive(found, aim, trials)
    _save(args.save, answer)
    made = None if which is None else exported(exact, which)
    if which is not None and made is not None and (which.path or not args.json):
        which.write(made)
    if args.json:
        print_json(answer if which is None else answer | {"export": to_json(made)})
    elif which is None or made is None or which.path:
        from planner.cli.search_text import show

        show(answer)
    return 0


def _space(run: Run, limits: Restrictions, which: Wanted | None) -> Space:
    """What is searched: for an export, what its target can run."""
    if which is None:
        return space(run, limits)
    return which.runnable(space(which.planned(run), which.narrowed(limits)))


def _limits(args: argparse.Namespace) -> Restrictions:
    if args.free_batch and not any(word.startswith("global") for word in args.bound):
        args.bound = [*args.bound, "global_batch=1.."]
    return restrictions_of(args)


def _aim(args: argparse.Namespace) -> Aim:
    weights = weights_of(args)
    return Aim(by=args.by) if weights is None else Aim(by=args.by, weights=weights)


def _trials(args: argparse.Namespace) -> Trials | None:
    """How to search by trials; None without any."""
    named = args.study is not None or args.storage is not None or args.worker
    if args.trials is None:
        if named or args.several or args.seed is not None:
            raise PlannerError("--trials", None, "say how many, such as --trials 200")
        return None
    return Trials(
        number=read_whole(COUNT, "--trials", args.trials),
        seed=0 if args.seed in (None, "0") else read_whole(COUNT, "--seed", args.seed),
        storage=(args.storage or default_url()) if named else None,
        name=args.study,
        several=args.several,
    )


def _exhaustive(found: Space, aim: Aim, trials: Trials | None) -> tuple[Answer, dict[str, Any]]:
    """The exact answer, and as plain values with what trials found where they are asked for."""
    from planner.search.exhaustive import searched

    with progress("candidates", found.size) as bar:
        exact = searched(found, aim, progress=bar.advance)
    answer = exact.to_json()
    if trials is None or not exact.scan.complete:
        return exact, answer | {"study": None}
    from planner.search.learned import learned

    with progress("trials", trials.number) as bar:
        return exact, answer | {"study": learned(exact, trials, progress=bar.advance)}


def _measured(args: argparse.Namespace, limits: Restrictions, trials: Trials | None) -> int:
    """Trials that really train."""
    from planner.search.measuring import choices, measured_search

    made = run_from_args(args)
    number = choices(made, limits).size
    wanted = trials or Trials(number=number)
    with progress("trials", min(wanted.number, number)) as bar:
        answer = measured_search(made, limits, wanted, device=args.device, progress=bar.advance)
    if args.json:
        print_json(answer)
    else:
        from planner.cli.measured_text import show

        show(answer)
    return 0


def _worker(args: argparse.Namespace, found: Space, aim: Aim, trials: Trials | None) -> int:
    """Trials of a shared study until it has enough."""
    from planner.search.learned import labour

    assert trials is not None, "a worker without --trials is refused"
    with progress("trials", trials.number) as bar:
        answer = labour(found, aim, trials, progress=bar.advance)
    if args.json:
        print_json(answer)
    else:
        done, seconds = answer["of_this_worker"], answer["seconds"]
        print(f"{done} trials of the study {answer['study']} in {seconds:.1f} s")
    return 0


def _save(path: str | None, answer: dict[str, Any]) -> None:
    if path is None:
        return
    if answer["run_file"] is None:
        note(f"nothing fits within the limits: {path} is not written")
        return
    import yaml

    try:
        Path(path).write_text(yaml.safe_dump(answer["run_file"], sort_keys=False), "utf-8")
    except OSError as error:
        raise PlannerError("--save", path, f"cannot be written: {error.strerror}") from None
    note(f"the best is in {path}")
