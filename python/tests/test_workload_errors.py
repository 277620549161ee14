"""What workloads refuse: class, code, and the line of the user's source, which says `HERE`."""

from __future__ import annotations

import contextlib
import functools
import inspect
import linecache
import os
import random
import re
import secrets
from pathlib import Path

import numpy
import pytest
from declared import Declared, ir
from pto_wsp import (
    Buffer,
    Channel,
    Constexpr,
    Dense,
    P,
    Slot,
    Tensor,
    combine,
    errors,
    f32,
    ragged,
    sparse,
    table,
    tensor,
    tile,
    workload,
)

step = Declared("step", "inout x")
move = Declared("move", "in a, out b")
number = Declared("number", "n, const c=0")

X = tensor(("n", 64), f32)
F = tensor((8, 64), f32)
LENS = table(length="n")
AGAIN = Slot(1)

RNG = numpy.random.default_rng(0)


def drawn():
    return int(RNG.integers(1, 100))


def drawn_by_default(rng=RNG):
    return int(rng.integers(1, 100))


def drawn_of_a_keyword(*, rng=RNG):
    return int(rng.integers(1, 100))


def drawn_of(rng):
    again = rng
    return int(again.integers(1, 100))


def drawn_in_a_closure(rng):
    return lambda: drawn_of(rng)


def remembered(value, seen=[]):  # noqa: B006
    seen.append(value)
    return len(seen)


def forgotten(value, seen=None):
    seen = seen or []
    seen.append(value)
    return len(seen)


CLOSURE = drawn_in_a_closure(RNG)


CASES: list = []


def case(code, *texts):
    """A function that must fail with a code; a workload function is traced, where it has the name `w`."""

    def add(function):
        CASES.append(pytest.param(code, texts, function, id=f"{code}-{function.__name__}-{len(CASES)}"))
        return function

    return add


def traced(function):
    """A case that is a workload function itself."""

    def run():
        ir(workload(function))

    run.__name__ = function.__name__
    run.__wrapped__ = function
    return run


@case(1000)
def text_given_to_exec():
    scope = {"P": P, "step": step, "workload": workload, "X": X}
    exec("@workload\ndef w(n):\n    for i in P(n):\n        step(X[i])\n", scope)
    ir(scope["w"])


@case(1001, "for i in P(…):")
@traced
def list_of_a_loop(n):
    for i in list(P(n)):  # HERE
        step(X[i])


@case(1001)
@traced
def comprehension(n):
    [step(X[i]) for i in P(n)]  # HERE


@case(1001)
@traced
def loop_in_a_variable(n):
    rows = P(n)  # HERE
    for i in rows:
        step(X[i])


@case(1001, "with P.when(…):")
@traced
def when_without_with(n):
    P.when(n > 0)  # HERE
    step(X)


@case(1002, "`if` of Python", "with P.when(condition):")
@traced
def if_of_a_size(n):
    if n > 4:  # HERE
        step(X)


@case(1002, "`and`/`or`", "&")
@traced
def and_of_conditions(n):
    with P.when(n > 4 and n < 8):  # HERE
        step(X)


@case(1002, "`not`", "~(condition)")
@traced
def not_of_a_condition(n):
    with P.when(not n > 4):  # HERE
        step(X)


@case(1002, "chain", "(lo <= i) & (i < hi)")
@traced
def chain_of_comparisons(n):
    for i in P(n):
        with P.when(0 < i < 4):  # HERE
            step(X)


@case(1002, "P.select(c, a, b)")
@traced
def conditional_expression(n):
    number(1 if n > 4 else 2)  # HERE


@case(1002, "P.loop")
@traced
def while_of_a_slot(n):
    while AGAIN > 0:  # HERE
        step(AGAIN)


@case(1002)
@traced
def truth_of_a_tensor(n):
    if X:  # HERE
        step(X)


@case(1003, "for i in P(n):")
@traced
def range_of_a_size(n):
    for i in range(n):  # HERE
        step(X[i])


@case(1003)
@traced
def float_of_a_size(n):
    number(float(n))  # HERE


@case(1003, "n: Tensor[f32, …]")
@traced
def index_of_a_size(n):
    step(n[0])  # HERE


@case(1003, "n: Tensor[f32, …]")
@traced
def shape_of_a_size(n):
    number(n.shape[0])  # HERE


@case(1003, "n: Tensor[f32, …]")
@traced
def length_of_a_size(n):
    number(len(n))  # HERE


@case(1003)
@traced
def list_index(n):
    for i in P(n):
        number([1, 2, 3][i])  # HERE


@case(1003)
@traced
def dictionary_key(n):
    for i in P(n):
        number({0: 1}[i])  # HERE


@case(1003, ".size")
@traced
def length_of_a_table(n):
    number(len(LENS))  # HERE


@case(1004, "`//`")
@traced
def true_division(n):
    number(n / 2)  # HERE


@case(1004, "`*`")
@traced
def product_with_a_float(n):
    number(n * 0.5)  # HERE


@case(1004, "(a < b) & (c < d)")
@traced
def precedence_of_and(n):
    with P.when((n > 1) & n):  # HERE
        step(X)


@case(1004)
@traced
def comparison_with_none(n):
    with P.when(n == None):  # noqa: E711  # HERE
        step(X)


@case(1005, "P.loop")
@traced
def break_in_a_loop(n):
    for i in P(n):
        step(X[i])
        break  # HERE


@case(1005)
@traced
def continue_under_a_condition(n):
    for _k in range(3):
        with P.when(n > 2):
            continue  # HERE
        step(X)


@case(1005)
@traced
def return_in_a_loop(n):
    for i in P(n):
        step(X[i])
        return  # HERE


@case(1005)
@traced
def else_of_a_loop(n):
    for i in P(n):
        step(X[i])
    else:
        step(X)  # HERE


@case(1006, "changes from one iteration to the next", "range(4)")
@traced
def sum_over_iterations(n):
    total = 0
    for i in P(n):
        total = total + i  # HERE
        number(total)


@case(1006)
@traced
def augmented_assignment(n):
    total = 0
    for i in P(n):
        total += i  # HERE


@case(1006)
@traced
def assigned_in_one_branch_of_python(n):
    first = 1
    for i in P(n):
        number(first)
        for k in range(2):
            if k:
                first = 0  # HERE


@case(1006)
@traced
def handle_of_the_iteration_before(n):
    before = ()
    for i in P(n):
        before = [step(X[i], after=before)]  # HERE


@case(1006, "runs once")
@traced
def list_that_outlives_the_loop(n):
    found = []
    for i in P(n):
        found.append(i)  # HERE
    number(len(found))


@case(1006)
@traced
def element_of_a_dictionary(n):
    found = {}
    for i in P(n):
        found["last"] = i  # HERE


@case(1006)
@traced
def variable_of_a_closure(n):
    offset = 0

    def shifted():
        return offset + 1

    for i in P(n):
        offset = i  # HERE
        number(shifted())


@case(1007, "`n - 1`")
@traced
def index_behind_its_loop(n):
    for i in P(n):
        step(X[i])
    number(i)  # HERE


@case(1007)
@traced
def constant_behind_its_loop(n):
    last = 0
    for i in P(n):
        last = 1
        number(i)
    number(last)  # HERE


@case(1007, "P.select(c, a, b)")
@traced
def variable_behind_a_branch(n):
    k = 0
    with P.when(n > 4):
        k = 1
    number(k)  # HERE


@case(1007)
@traced
def variable_of_the_other_branch(n):
    k = 0
    with P.when(n > 4):
        k = 1
    with P.otherwise():
        number(k)  # HERE


@case(1007)
@traced
def handle_that_may_be_an_earlier_one(n):
    t = step(X)
    for i in P(n):
        t = step(X[i])
    step(X, after=[t])  # HERE


@case(1008, "outside of its loop")
@traced
def index_through_an_object(n):
    class Box:
        pass

    box = Box()

    def keep(i):
        vars(box)["i"] = i

    for i in P(n):
        keep(i)
    number(box.i)  # HERE


@case(1009)
@traced
def otherwise_alone(n):
    with P.when(n > 1):
        step(X)
    step(X)
    with P.otherwise():  # HERE
        step(X)


@case(1009)
@traced
def otherwise_twice(n):
    with P.when(n > 1):
        step(X)
    with P.otherwise():
        step(X)
    with P.otherwise():  # HERE
        step(X)


@case(1010, "was left before its end")
@traced
def exception_through_a_loop(n):
    try:
        for i in P(n):  # HERE
            step(X[i])
            raise KeyError(0)
    except KeyError:
        pass


@case(1002)
@traced
def error_caught_in_its_loop(n):
    for i in P(n):
        try:
            if i > 2:  # HERE
                step(X[i])
        except Exception:
            number(i)


@case(1002)
@traced
def error_passed_over(n):
    for i in P(n):
        with contextlib.suppress(errors.TraceError):
            if i > 2:  # HERE
                step(X[i])


@case(1003)
@traced
def error_lost_in_a_finally(n):
    def first(i):
        try:
            return int(i)  # HERE
        finally:
            return 0  # noqa: B012

    for i in P(n):
        number(first(i))


@case(1006, "`RNG`")
@traced
def random_number_of_a_generator(n):
    for i in P(n):
        number(i + int(RNG.integers(1, 100)))  # HERE


@case(1006, "`random`")
@traced
def random_number_of_a_module(n):
    for i in P(n):
        number(i + random.randint(1, 100))  # HERE


@case(1006, "`numpy`")
@traced
def random_number_of_numpy(n):
    for i in P(n):
        number(i + int(numpy.random.randint(100)))  # HERE


@case(1006, "by `drawn`")
@traced
def random_number_of_a_function(n):
    for i in P(n):
        number(i + drawn())  # HERE


@case(1006, "`rng`", "by `drawn_by_default`")
@traced
def random_number_of_a_default(n):
    for i in P(n):
        number(i + drawn_by_default())  # HERE


@case(1006, "`rng`", "by `drawn_of_a_keyword`")
@traced
def random_number_of_a_default_by_keyword(n):
    for i in P(n):
        number(i + drawn_of_a_keyword())  # HERE


@case(1006, "`RNG`", "by `drawn_of`")
@traced
def random_number_of_an_argument(n):
    for i in P(n):
        number(i + drawn_of(RNG))  # HERE


@case(1006, "`rng`")
@traced
def random_number_of_a_closure(n):
    for i in P(n):
        number(i + CLOSURE())  # HERE


@case(1006, "`RNG`")
@traced
def random_number_of_one_of_two_functions_in_a_line(n):
    _, second = (lambda: 1), (lambda: int(RNG.integers(9)))
    for i in P(n):
        number(i + second())  # HERE


@case(1006, "`RNG`")
@traced
def random_number_of_a_function_inside_of_a_function(n):
    def outer():
        def inner():
            return int(RNG.integers(9))

        return inner()

    for i in P(n):
        number(i + outer())  # HERE


@case(1006, "`RNG`")
@traced
def random_numbers_of_a_map(n):
    for i in P(n):
        number(i + int(sum(map(RNG.integers, [9]))))  # HERE


@case(1006, "`draw`")
@traced
def random_number_of_a_partial_function(n):
    draw = functools.partial(RNG.integers, 1, 100)
    for i in P(n):
        number(i + int(draw()))  # HERE


@case(1006, "`secrets`")
@traced
def random_number_of_the_system(n):
    for i in P(n):
        number(i + secrets.randbelow(9))  # HERE


@case(1006, "`os`")
@traced
def random_bytes_of_the_system(n):
    for i in P(n):
        number(i + os.urandom(1)[0])  # HERE


@case(1006, "`seen`", "by `remembered`")
@traced
def default_that_changes(n):
    for i in P(n):
        number(i + remembered(1))  # HERE


@case(1011)
@traced
def loop_over_a_tensor(n):
    for i in P(X):  # HERE
        step(X[i])


@case(1011)
@traced
def loop_over_a_float(n):
    for i in P(2.5):  # HERE
        step(X[i])


@case(1012, "P(axis[b])")
@traced
def ragged_without_its_outer_loop(n):
    tok = ragged("n", LENS)
    for i in P(tok):  # HERE
        step(X[i])


@case(1012, "several")
@traced
def ragged_under_two_outer_loops(n):
    tok = ragged("n", LENS)
    for _a, _b in P(n, n):
        for i in P(tok):  # HERE
            step(X[i])


@case(1012, "P.sel")
@traced
def loop_over_a_sparse_axis(n):
    route = sparse("n", LENS, table())
    for _a in P(n):
        for i in P(route):  # HERE
            step(X[i])


@case(1013, "for i, j in")
@traced
def variables_and_axes(n):
    for _i, _j, _k in P(n, n):  # HERE
        step(X)


@case(1014, "n - 1 - i")
@traced
def range_backwards(n):
    for i in P(range(8, 0, -1)):  # HERE
        step(X[i])


@workload
def takes(n, m, k: Constexpr):
    for i in P(n):
        number(i)


@case(1015, "takes(n, m, k: Constexpr)")
def surplus_argument():
    takes(1, 2, 3, 4)  # HERE


@case(1015)
def unknown_argument():
    takes(o=4)  # HERE


@case(1015)
def argument_twice():
    takes(1)(n=2)  # HERE


@case(1015, "k=…")
def missing_constant():
    ir(takes)


@case(1015, "without `m`, `k`")
@traced
def missing_argument_in_a_trace(n):
    takes(n)  # HERE


@case(1016, "Constexpr")
def text_for_a_size():
    takes(n="four")  # HERE


@case(1016)
def negative_size():
    takes(n=-1)  # HERE


@case(1016)
def other_tensor():
    @workload
    def w(x: Tensor[f32, 4]):
        step(x)

    w(x=tensor((4, 4), f32))  # HERE


@case(1017)
def unknown_annotation():
    def w(
        n: float,  # HERE
    ):
        step(X)

    workload(w)


@case(1017, "Constexpr")
def starred_parameter():
    def w(
        *sizes,  # HERE
    ):
        step(X)

    workload(w)


@case(1018)
def name_of_a_size():
    tensor(("n", "two words"), f32)  # HERE


@case(1019, "both called `A`", "name=")
def two_tensors_of_one_name():
    a, b = tensor((4,), f32, name="A"), tensor((4,), f32, name="A")  # HERE

    @workload
    def w():
        move(a, b)

    ir(w)


@case(1020, "@workload")
def call_outside():
    step(X)  # HERE


@case(1020)
def view_outside():
    X[0]  # HERE


@case(1021, "move(a: In, b: Out)")
@traced
def argument_too_many(n):
    move(X, X, X)  # HERE


@case(1021, "without `b`")
@traced
def argument_too_few(n):
    move(X)  # HERE


@case(1021)
@traced
def argument_of_another_name(n):
    move(X, c=X)  # HERE


@case(1022, "takes a tensor")
@traced
def integer_for_a_tensor(n):
    step(n)  # HERE


@case(1022, "tensor(array)")
@traced
def array_for_a_tensor(n):
    step(numpy.zeros(3))  # HERE


@case(1022, "Scalar")
@traced
def size_for_a_constant(n):
    number(1, n)  # HERE


@case(1022)
@traced
def tensor_for_an_integer(n):
    number(X)  # HERE


@case(1023, "shape is (n, 64)")
@traced
def too_many_dimensions(n):
    step(X[0, 0, 0])  # HERE


@case(1023)
@traced
def two_ellipses(n):
    step(X[..., ...])  # HERE


@case(1024)
@traced
def slice_with_a_step(n):
    step(X[0:8:2])  # HERE


@case(1025, "extent 8")
@traced
def index_behind_the_end(n):
    step(F[8])  # HERE


@case(1025, "reaches 15")
@traced
def loop_longer_than_the_tensor(n):
    for i in P(16):
        step(F[i])  # HERE


@case(1025)
@traced
def slice_behind_the_end(n):
    step(F[4:9])  # HERE


@case(1025)
@traced
def negative_expression(n):
    for i in P(n):
        step(X[-1 - i])  # HERE


@case(1025)
@traced
def slice_that_ends_before_it_starts(n):
    step(F[4:2])  # HERE


@case(1025)
@traced
def tile_behind_the_end(n):
    step(F[tile(1, 8)])  # HERE


@case(1025)
@traced
def index_outside_a_table(n):
    number(table([1, 2])[2])  # HERE


@case(1026, "index the tensor itself")
@traced
def view_of_a_view_of_unknown_size(n):
    for i in P(n):
        step(X[0:i][3])  # HERE


@case(1027)
@traced
def text_as_an_index(n):
    step(X["first"])  # HERE


@case(1028)
def unknown_element_type():
    tensor((4,), "f31")  # HERE


@case(1028)
def too_many_extents():
    tensor((1,) * 7, f32)  # HERE


@case(1028)
def negative_extent():
    tensor((-1,), f32)  # HERE


@case(1028)
def no_array():
    tensor(3.5)  # HERE


@case(1029, "different names")
def one_size_with_two_values():
    ir(combine(workload(_rows)(n=4), workload(_rows)(n=8)))


def _rows(n):
    for i in P(n):
        step(X[i])


@case(1030)
def table_of_floats():
    table([0.5])  # HERE


@case(1030)
def negative_length():
    ragged("n", [1, -1])  # HERE


@case(1031, "combine(first, second)")
def combine_of_a_function():
    combine(lambda: None)  # HERE


@case(1031, "lambda: first(i)")
@traced
def combine_of_a_call(n):
    combine(takes(n, n, 0))  # HERE


@workload
def endless(n):
    endless(n)


@case(1032, "Constexpr")
def recursion_without_end():
    ir(endless)


@case(1033, "P(n)")
@traced
def python_loop_of_many_statements(n):
    for _ in range(10**6):
        step(X)  # HERE


@case(1034)
@traced
def expression_that_doubles(n):
    for _ in range(100):
        n = n * n  # HERE


@case(1034)
@traced
def number_of_65_bits(n):
    number(n + 2**63)  # HERE


@case(1035, "after=[t]")
@traced
def after_of_something_else(n):
    step(X, after=["step"])  # HERE


@case(1036)
@traced
def process_outside_of_a_pipeline(n):
    with P.process("load"):  # HERE
        step(X)


@case(1036)
@traced
def task_outside_of_processes(n):
    with P.pipe():
        step(X)  # HERE


@case(1036)
@traced
def send_outside_of_a_process(n):
    ring = Channel(depth=2)
    with ring.send():  # HERE
        step(X)


@case(1036)
@traced
def two_processes_of_one_name(n):
    with P.pipe():
        with P.process("load"):
            step(X)
        with P.process("load"):  # HERE
            step(X)


@case(1037, "pipeline_depth")
@traced
def pipeline_with_an_axis(n):
    for _i in P.pipe(n, depth=2):  # HERE
        step(X)


@case(1038)
def channel_without_depth():
    Channel((4,), f32)  # HERE


@case(1038)
def channel_of_negative_depth():
    Channel(depth=-1)  # HERE


@case(1036)
@traced
def close_outside_of_a_process(n):
    Channel(depth=2).close()  # HERE


@case(1036)
@traced
def selection_outside_of_a_process(n):
    with P.select_channel():  # HERE
        step(X)


@case(1036)
@traced
def selection_without_arms(n):
    with P.pipe():
        with P.process("p"):
            with P.select_channel(all=True):  # HERE
                pass


@case(1036)
@traced
def task_in_a_selection_outside_of_its_arms(n):
    with P.pipe():
        with P.process("p"):
            with P.select_channel():
                step(X)  # HERE


@case(1036)
@traced
def send_in_a_selection(n):
    ring = Channel(depth=2)
    with P.pipe():
        with P.process("p"):
            with P.select_channel():
                with ring.send():  # HERE
                    step(X)


@case(1036)
@traced
def all_that_is_no_truth(n):
    ring = Channel(depth=2)
    with P.pipe():
        with P.process("p"):
            with ring.consume(all=2):  # HERE
                step(X)


@case(1039, "for i in P(n):")
@traced
def iteration_over_a_tensor(n):
    for row in X:  # HERE
        step(row)


@case(1039)
@traced
def iteration_over_a_table(n):
    for k in LENS:  # HERE
        number(k)


@case(1039)
@traced
def iteration_over_an_axis(n):
    for k in Dense[4]:  # HERE
        number(k)


@case(1041)
@traced
def slice_as_a_coordinate(n):
    step[0:4](X)  # HERE


@case(1042, "kernel")
@traced
def assignment_to_a_tensor(n):
    X[0] = 1  # HERE


@case(1043)
def generator():
    @workload
    def w(n):  # HERE
        yield n


@case(1043, "return")
@traced
def value_of_a_workload(n):  # HERE
    return step(X)


@case(1044)
@traced
def division_by_zero(n):
    number(n % 0)  # HERE


@case(1046, "depends on")
@traced
def extent_that_depends_on_a_loop(n):
    for i in P(n):
        step(Buffer((i,), f32))  # HERE


@case(1047, "older")
@traced
def slot_expression_behind_a_write(n):
    slot = Slot(1)
    before = slot + 1
    step(slot)
    number(before)  # HERE


@pytest.mark.parametrize(("code", "texts", "function"), CASES)
def test_misuse(code, texts, function):
    with pytest.raises(errors.TraceError) as caught:
        function()
    error = caught.value
    assert error.code == f"WSP{code}", str(error)
    for text in texts:
        assert text in str(error), str(error)
    source = getattr(function, "__wrapped__", function)
    if error.line is not None and _marked(source):
        assert "HERE" in linecache.getline(__file__, error.line), str(error)
        assert error.file and error.file.endswith(Path(__file__).name)


def _marked(function) -> bool:
    """Whether the case marks a line."""
    text = inspect.getsource(function)
    return "HERE" in text


def catalogue(first: int, last: int) -> set[int]:
    """The codes of a range that the compiler explains."""
    path = Path(__file__).parents[2] / "crates/wsp-trace/src/python/workload.rs"
    codes = {int(code) for code in re.findall(r"Code\((\d+)\)", path.read_text(encoding="utf-8"))}
    return {code for code in codes if first <= code <= last}


ELSEWHERE = {1040, 1045, 1048, 1049, 1050}
"""Codes of `.pto` files, provoked by the tests of programs, of texts and methods, by those of texts, and of
names, by those of misuse.
"""


def test_every_code_is_provoked():
    provoked = {entry.values[0] for entry in CASES}
    assert provoked | ELSEWHERE == catalogue(1000, 1099)


def test_a_plain_program_is_not_refused():
    """What looks like misuse and is none."""

    first, _ = (lambda: 1), (lambda: int(RNG.integers(9)))

    @workload
    def w(n, flag: Constexpr = True):
        scale = 2
        names = []
        number(drawn_by_default() + CLOSURE())
        for k in range(3):
            names.append(k)
            if k == 2:
                break
        for i in P(n):
            local = i * scale + first() + forgotten(2)
            parts = []
            parts.append(local)
            off = 1 if flag else 0
            for k in names:
                off = off + k
                number(off + parts[0])
            t = step(X[i])
            step(X[i], after=[t])
            i = 3
            number(i)
        for i in P(4):
            with P.when(i > 2):
                local = i
                number(local)
            local = 0
            number(local)
        step(X, after=[t])

    assert "number" in ir(w)
