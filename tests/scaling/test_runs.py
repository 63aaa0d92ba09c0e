"""Tables of runs: read by name, refused by line."""

from __future__ import annotations

import numpy as np
import pytest

from planner.errors import PlannerError
from planner.scaling.runs import Runs, read_runs


def test_columns_may_be_in_any_order_and_case() -> None:
    runs = read_runs(["Loss,Tokens,extra,Params", "3.1,2e10,x,1e9", "", "2.9,4e10,y,1e9"])
    np.testing.assert_array_equal(runs.losses, [3.1, 2.9])
    np.testing.assert_array_equal(runs.flops, [1.2e20, 2.4e20])


def test_compute_stands_in_for_tokens_or_parameters() -> None:
    assert read_runs(["params,flops,loss", "1e9,1.2e20,3"]).tokens[0] == pytest.approx(2e10)
    assert read_runs(["tokens,flops,loss", "2e10,1.2e20,3"]).params[0] == pytest.approx(1e9)


@pytest.mark.parametrize("bad", ["0", "-3", "nan", "inf", "", "three"])
def test_a_loss_that_is_no_positive_number_is_refused_with_its_line(bad: str) -> None:
    with pytest.raises(PlannerError, match="line 3, loss"):
        read_runs(["params,tokens,loss", "1e9,2e10,3", f"1e9,4e10,{bad}"])


@pytest.mark.parametrize(
    "lines", [[], ["params,tokens,loss"], ["a,b", "1,2"], ["params,loss", "1e9,3"]]
)
def test_a_table_without_runs_or_columns_is_refused(lines: list[str]) -> None:
    with pytest.raises(PlannerError, match="params,tokens,loss"):
        read_runs(lines)


def test_a_quote_that_never_closes_is_refused() -> None:
    with pytest.raises(PlannerError, match="not CSV"):
        read_runs(["params,tokens,loss\n", '"1e9,2e10,3\n', *["1e9,2e10,3\n"] * 20_000])


def test_absurd_sizes_are_refused() -> None:
    with pytest.raises(PlannerError, match="run 1, params"):
        read_runs(["params,tokens,loss", "1e308,1e10,3"])


def test_the_largest_losses_are_left_out() -> None:
    runs = Runs(
        params=np.array([1e9, 2e9, 3e9]),
        tokens=np.array([1e10, 2e10, 3e10]),
        losses=np.array([3.0, 5.0, 2.0]),
    )
    np.testing.assert_array_equal(runs.without_largest_losses(1).losses, [3.0, 2.0])
    with pytest.raises(PlannerError, match="drop-largest"):
        runs.without_largest_losses(3)


FAMILIES = ["set,N,D,c4,u", "a,1e9,2e10,3.0,2e10", "a,1e9,8e10,2.8,2e10", "b,1e9,2e10,oops,2e10"]
CALLED = {"loss": "c4"}


def test_columns_called_otherwise_and_rows_of_one_family_are_read() -> None:
    runs = read_runs(FAMILIES, columns=CALLED, where={"set": "a"})
    np.testing.assert_array_equal(runs.losses, [3.0, 2.8])
    with pytest.raises(PlannerError, match="line 4, loss"):
        read_runs(FAMILIES, columns=CALLED)


def test_runs_that_repeat_their_data_are_known() -> None:
    runs = read_runs(FAMILIES, columns=CALLED, where={"set": "a"})
    assert runs.repeats.tolist() == [False, True]
    assert runs.take(~runs.repeats).losses.tolist() == [3.0]
    assert not read_runs(["params,tokens,loss", "1e9,2e10,3"]).repeats.any()


@pytest.mark.parametrize(
    ("columns", "where", "words"),
    [
        ({"loss": "nope"}, {}, "no such column"),
        ({"los": "c4"}, {}, "say what one of"),
        (CALLED, {"set": "z"}, "no row is so"),
        (CALLED, {"sort": "a"}, "no such column"),
    ],
)
def test_a_table_that_cannot_be_read_so_is_refused(
    columns: dict[str, str], where: dict[str, str], words: str
) -> None:
    with pytest.raises(PlannerError, match=words):
        read_runs(FAMILIES, columns=columns, where=where)
