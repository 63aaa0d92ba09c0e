"""`forerun scaling diversity`: how many tokens of a corpus are new, judged by a sample."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from planner.cli.amounts import tokens
from planner.cli.output import note, print_json, print_table
from planner.errors import PlannerError
from planner.quantities import show_bytes, show_count, show_percent
from planner.scaling.diversity import effective_unique_tokens, measure_diversity
from planner.text_file import lines_of

MOST_SAMPLE_BYTES = 4_000_000  # read from the file's beginning


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sample", metavar="SAMPLE", help="JSONL with a field text, or one document per line"
    )
    parser.add_argument("--tokens", metavar="D", help="tokens of the corpus that it samples")


def run(args: argparse.Namespace) -> int:
    found = measure_diversity(list(_documents(Path(args.sample))))
    corpus = tokens("--tokens", args.tokens)
    unique = None if corpus is None else effective_unique_tokens(corpus, found)
    if args.json:
        print_json(
            {
                "documents": found.documents,
                "bytes": found.bytes_read,
                "duplicate_share": found.duplicate_share,
                "copied_share": found.copied_share,
                "shared_share": found.shared_share,
                "new_share": found.new_share,
                "effective_unique_tokens": unique,
            }
        )
        return 0
    rows: list[list[object]] = [
        ["documents", found.documents],
        ["text", show_bytes(found.bytes_read)],
        ["in duplicate documents", show_percent(found.duplicate_share)],
        ["copied runs of 13 words", show_percent(found.copied_share)],
        ["saved by compressing documents together", show_percent(found.shared_share)],
        ["new", show_percent(found.new_share)],
    ]
    if unique is not None:
        rows.append(["unique tokens of the corpus, at most", show_count(unique)])
    print_table("Diversity of the sample", ["what", "value"], rows)
    note("a sample sees only the copies inside it: the corpus repeats itself at least this much")
    return 0


def _documents(path: Path) -> Iterator[str]:
    read = 0
    lines = lines_of(path, "sample", longest=MOST_SAMPLE_BYTES, most=2 * MOST_SAMPLE_BYTES)
    for number, line in enumerate(lines, start=1):
        read += len(line)
        if read > MOST_SAMPLE_BYTES:
            return
        if line.strip():
            yield _text(line, number)


def _text(line: str, number: int) -> str:
    if not line.lstrip().startswith("{"):
        return line
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    text = record.get("text") if isinstance(record, dict) else None
    if not isinstance(text, str):
        raise PlannerError(f"line {number}", line[:40], "a JSON line needs a field text")
    return text
