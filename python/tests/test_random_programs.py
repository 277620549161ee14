"""Random programs through the public interface: the numbers of NumPy, or a refusal with a code.

`WSP_CASES` is how many are drawn; each run draws the same.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from pto_wsp import errors
from random_programs import Drawn, options, programs, schedules
from random_refusals import asked, certain, right

CASES = int(os.environ.get("WSP_CASES", "250"))

# What is refused leaves a schedule that nothing uses.
pytestmark = pytest.mark.filterwarnings("ignore::pto_wsp.errors.ThrownAwayWarning")

drawn = settings(
    max_examples=CASES,
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def refusal(error: errors.WspError) -> None:
    """Asserts that a refusal has a code and help."""
    event(f"refused {error.code}")
    assert error.code and re.fullmatch(r"WSP\d{4}", error.code), repr(error)
    assert error.message and str(error) == error.rendered


@drawn
@given(programs(), schedules, options)
def test_a_random_program_computes_what_numpy_computes(
    case: Drawn, schedule: list[tuple[tuple[str, Any], int]], chosen: dict[str, Any]
) -> None:
    work = case.work
    try:
        for (_, say), n in schedule:
            work = say(work, n)
        program = work.compile(**chosen)
        stats = program.execute(**case.arrays, **case.sizes)
    except errors.WspError as error:
        refusal(error)
        is_right = right(error, schedule, chosen, tensors=case.arrays, text=case.text)
        assert is_right, f"{error}\n{asked(schedule)}"
        return
    # What the tables refuse did not run.
    assert not certain(schedule, chosen, case.arrays, case.text), asked(schedule)
    event("ran")
    np.testing.assert_array_equal(case.arrays["Y"], case.want, err_msg=f"{stats.num_tasks} tasks")


def wrong_arrays(case: Drawn, name: str, how: int) -> dict[str, Any]:
    """The arrays of a case with one mistake."""
    array = case.arrays[name]
    given: dict[str, Any] = {**case.arrays, **case.sizes}
    wrong: list[Any] = [
        array.astype("f4" if array.dtype != np.float32 else "f8"),
        array[:, :0],
        array[None],
        np.zeros((array.shape[0] + 1, array.shape[1]), array.dtype),
        array.tolist(),
        None,
        "X",
        3,
        array.astype(object),
        np.broadcast_to(array[:1, :1], array.shape) if array.size else None,
        array.astype(array.dtype.newbyteorder()) if array.dtype.itemsize > 1 else None,
        given["Y" if name == "X" else "X"],
        array[::-1],
    ]
    if how < len(wrong):
        given[name] = wrong[how]
    elif how == len(wrong):
        del given[name]
    elif how == len(wrong) + 1:
        given["rows"] = -1
    elif how == len(wrong) + 2:
        given["rows"] = 2**70
    else:
        given["other"] = array
    return given


@drawn
@given(programs(), st.sampled_from("XYZ"), st.integers(0, 16))
def test_arrays_that_do_not_fit_are_refused_or_make_no_difference(case: Drawn, name: str, how: int) -> None:
    given_arrays = wrong_arrays(case, name, how)
    before = {key: np.array(each) for key, each in case.arrays.items() if key != "Y"}
    try:
        case.work.compile(num_threads=1).execute(**given_arrays)
    except errors.WspError as error:
        refusal(error)
    except TypeError as error:
        # A name that is given twice is Python's own to refuse.
        assert "multiple values" in str(error)
    else:
        event("ran")
    for key, each in before.items():
        np.testing.assert_array_equal(case.arrays[key], each)


def test_most_random_programs_run() -> None:
    """What is refused is no excuse: cases without a schedule all run."""
    ran = []

    @settings(drawn, max_examples=30)
    @given(programs())
    def check(case: Drawn) -> None:
        ran.append(case.work.compile(num_threads=1).execute(**case.arrays, **case.sizes).num_tasks)
        np.testing.assert_array_equal(case.arrays["Y"], case.want)

    check()
    assert len(ran) >= 30 and sum(count > 0 for count in ran) >= 15
