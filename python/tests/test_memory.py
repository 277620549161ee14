"""Arrays that begin at pages: made, freed, refused; read where they lie, and told of where they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pto_wsp
import pytest
from misuse import Cases, Misuse, check
from pto_wsp import Program, bf16, empty, errors, f16, f32, u8, zeros
from test_plans import arrays, program, table

PAGE = 4096
MIB = 1 << 20
CASES = Cases([])


@pytest.mark.parametrize("make", [zeros, empty])
@pytest.mark.parametrize("shape", [(), 0, 5, (3, 0, 2), (64, 16, 2, 64), [1024, 1025]])
@pytest.mark.parametrize(
    "dtype", [f16, "f32", "float64", np.uint8, np.dtype("int64"), u8, pytest.param(bf16, id="bf16")]
)
def test_an_array_begins_at_a_page_and_may_be_written(make: Any, shape: Any, dtype: Any) -> None:
    if dtype is bf16:
        pytest.importorskip("ml_dtypes")
    made = make(shape, dtype)
    named = {f16: "float16", "f32": "float32", u8: "uint8", bf16: "bfloat16"}.get(dtype, dtype)
    like = np.zeros(shape, "float32")
    assert isinstance(made, np.ndarray) and made.shape == like.shape and made.flags.c_contiguous
    assert made.dtype == named if dtype is not bf16 else made.dtype.name == named
    assert made.ctypes.data % PAGE == 0
    if make is zeros:
        assert not made.astype("float32").any()
    made[...] = 1
    assert (made.astype("float32") == 1).all()


def test_every_element_type_has_arrays() -> None:
    pytest.importorskip("ml_dtypes")
    for dtype in pto_wsp.dtypes.DTYPES.values():
        assert zeros((2, 3), dtype).dtype.itemsize == dtype.itemsize


def test_memory_goes_with_the_last_view_of_an_array() -> None:
    counted = Path("/proc/self/statm")
    if not counted.exists():
        pytest.skip("the system does not tell how much memory is mapped")

    def mapped() -> int:
        return int(counted.read_text().split()[0]) * PAGE

    before = mapped()
    made = empty((256, MIB), u8)
    view = made[5:, :7].T
    del made
    assert mapped() - before >= 256 * MIB
    view[0, 0] = 3
    del view
    assert mapped() - before < 128 * MIB


def cache(shape: tuple[int, ...], behind: int) -> np.ndarray:
    """An array of `float16` that begins so many bytes behind the start of a page."""
    count = int(np.prod(shape))
    return zeros(count + PAGE, np.float16)[behind // 2 :][:count].reshape(shape)


def requests(behind_k: int, behind_v: int, tokens: int) -> dict[str, Any]:
    """A request of the decode program with caches that begin so many bytes behind pages."""
    given = arrays([tokens])
    for name, behind in (("kv.k", behind_k), ("kv.v", behind_v)):
        values = given[name]
        given[name] = cache(values.shape, behind)
        given[name][...] = values
    return given


LARGE = MIB // (2 * 16 * 2)
"""Tokens of which the keys are 1 MiB."""


def run(decode: Program, how: str, given: dict[str, Any]) -> pto_wsp.Stats:
    """The figures of a run by `execute`, by `execute_async`, or of a plan."""
    if how == "plan":
        return decode.execute_plan(decode.plan(given), given)
    return decode.execute(**given) if how == "execute" else decode.execute_async(**given).synchronize()


@pytest.mark.parametrize("how", ["execute", "execute_async", "plan"])
def test_a_large_cache_inside_a_page_is_told_of_and_the_bits_are_the_same(how: str) -> None:
    decode = program()
    good, bad, half = requests(0, 0, LARGE), requests(2064, 64, LARGE), requests(0, 16, LARGE)
    assert run(decode, how, good).notes == []
    (note,) = run(decode, how, bad).notes
    # The place in the message is the caller's, so the cache was read there.
    assert "WSP1266" in note and "arrays `kv.k` and `kv.v` begin inside a page" in note
    assert "`kv.k` begins 2064 bytes behind" in note and "pto_wsp.empty(shape, dtype)" in note
    (note,) = run(decode, how, half).notes
    assert "array `kv.v` begins inside a page" in note and "16 bytes behind" in note
    assert good["output"].tobytes() == bad["output"].tobytes() == half["output"].tobytes()
    assert np.any(good["output"])


def test_a_large_cache_that_is_copied_is_told_of() -> None:
    decode = program()
    given = requests(0, 64, LARGE)
    given["kv.v"] = np.asfortranarray(given["kv.v"])
    (note,) = run(decode, "execute", given).notes
    assert "WSP1267" in note and "array `kv.v` is copied for each run" in note
    assert "`np.ascontiguousarray(…)`" in note


def test_a_small_cache_may_begin_anywhere() -> None:
    assert run(program(), "execute", requests(64, 64, LARGE - 16)).notes == []


@pytest.mark.parametrize("form", ["strided", "transposed", "unaligned", "read-only"])
def test_arrays_that_are_read_where_they_lie_and_those_that_are_copied_give_the_same_bits(form: str) -> None:
    decode = program()
    want, have = arrays([700, 40]), arrays([700, 40])
    decode.execute(**want)
    for name in ("q", "kv.k", "kv.v"):
        values = have[name]
        if form == "strided":
            have[name] = np.repeat(values, 2, axis=1)[:, ::2]
        elif form == "transposed":
            have[name] = np.ascontiguousarray(values.T).T
        elif form == "unaligned":
            have[name] = np.frombuffer(b"\0" + values.tobytes(), np.uint8)[1:].view(np.float16)
            have[name] = have[name].reshape(values.shape)
        else:
            values.flags.writeable = False
    decode.execute(**have)
    assert want["output"].tobytes() == have["output"].tobytes() and np.any(have["output"])


@pytest.mark.parametrize("form", ["rows", "columns", "turned", "one by one"])
def test_what_kernels_write_goes_to_the_elements_of_the_array_and_nowhere_else(form: str) -> None:
    decode = program()
    want, have = arrays([700, 40]), arrays([700, 40])
    decode.execute(**want)
    batch, heads, _, dim = want["output"].shape
    wide = np.full((2 * batch, heads, 2, 2 * dim), 7, np.float32)
    given = {
        "rows": wide[::2, :, :1, :dim],
        "columns": wide[:batch, :, 1:, ::2],
        "turned": wide[:batch, :, :1, :dim].transpose(3, 1, 2, 0).copy().transpose(3, 1, 2, 0),
        "one by one": wide[::-2, ::-1, :1, ::-2],
    }[form]
    decode.execute(**{**have, "output": given})
    assert given.tobytes() == want["output"].tobytes()
    given[...] = 7
    assert (wide == 7).all()


def test_a_plan_remembers_the_integers_that_it_was_made_for() -> None:
    decode = program()
    given = arrays([700, 40])
    plan = decode.plan(given)
    given["kv.indices"][:] = given["kv.indices"][::-1].copy()
    given["kv.last_page_len"][0] += 1
    with pytest.raises(errors.PlanError):
        decode.execute_plan(plan, given)
    given["kv.last_page_len"][0] -= 1
    decode.execute_plan(plan, given, **table([700, 40]))


@CASES.add(errors.ArgumentError, "WSP1265", "give sizes from 0")
def a_negative_extent() -> None:
    zeros((4, -1), f32)  # here


@CASES.add(errors.ArgumentError, "WSP1265", "a tuple of integers")
def an_extent_that_is_a_fraction() -> None:
    empty((4, 2.5), f32)  # here


@CASES.add(errors.ArgumentError, "WSP1265", "a tuple of integers")
def a_shape_that_is_none() -> None:
    empty(None, f32)  # here


@CASES.add(errors.ArgumentError, "WSP1265", "more bytes than can be addressed")
def a_shape_that_no_machine_has() -> None:
    zeros((2**40, 2**40), f32)  # here


@CASES.add(errors.ArgumentError, "WSP1265", "more bytes than can be addressed")
def a_shape_at_the_end_of_the_addresses() -> None:
    zeros(2**63 - 1, u8)  # here


@CASES.add(errors.ArgumentError, "WSP1251", "give one of f16, bf16")
def an_unknown_type() -> None:
    zeros(4, "float12")  # here


@CASES.add(errors.ArgumentError, "WSP1251", "which no tensor can have")
def complex_numbers() -> None:
    zeros(4, np.complex64)  # here


@CASES.add(errors.ArgumentError, "WSP1256", "of the other byte order")
def the_other_byte_order() -> None:
    zeros(4, np.dtype("float32").newbyteorder())  # here


@CASES.add(errors.ExecutionError, "WSP0855", "give smaller sizes")
def more_than_the_machine_has() -> None:
    zeros(2**56, u8)  # here


@pytest.mark.parametrize("case", CASES.all, ids=str)
def test_misuse(case: Misuse) -> None:
    check(case)
