"""Python text that could mean something else when traced or compiled: it means the same, or is refused."""

from __future__ import annotations

import heapq
import itertools
import types

import numpy as np
import pytest
from pto_wsp import (
    In,
    InOut,
    Out,
    P,
    Scalar,
    Slot,
    errors,
    f32,
    kernel,
    pto,
    python_kernel,
    ragged,
    tensor,
    workload,
)

X = tensor(("n", 8), f32)
Y = tensor(("n", 8), f32)


@kernel
def add(x: In, y: Out):
    pto.store(y, pto.load(x))


NUMBERS = itertools.count()
COUNT = {"calls": 0}


def count_calls():
    COUNT["calls"] += 1


def push(values):
    values.append(1)


class Counter:
    def __init__(self):
        self.value = 0

    def tick(self):
        self.value += 1
        return self.value


class Called(Counter):
    def __call__(self):
        return self.tick()


@python_kernel
def mark(y: InOut, column: Scalar):
    y[0, column] += 1


REFUSED: list = []


def refused(code):
    def note(function):
        REFUSED.append(pytest.param(code, function, id=function.__name__))
        return function

    return note


@refused(1006)
def closure_changes_a_variable(n):
    row = 0

    def bump():
        nonlocal row
        row += 1

    for i in P(n):
        bump()
        add(X[row], Y[i])


@refused(1006)
def closure_changes_a_list(n):
    row = [0]

    def bump():
        row[0] += 1

    for i in P(n):
        bump()
        add(X[row[0]], Y[i])


@refused(1006)
def function_of_the_module_changes_a_dictionary(n):
    for i in P(n):
        count_calls()
        add(X[COUNT["calls"]], Y[i])


@refused(1006)
def function_changes_its_argument(n):
    rows = []
    for i in P(n):
        push(values=rows)
        add(X[len(rows)], Y[i])


@refused(1006)
def function_is_passed_on(n):
    rows = []

    def grow():
        push(rows)

    def call(function):
        function()

    for i in P(n):
        call(grow)
        add(X[len(rows)], Y[i])


@refused(1006)
def method_changes_its_object(n):
    counter = Counter()
    for i in P(n):
        add(X[counter.tick()], Y[i])


@refused(1006)
def next_of_an_iterator(n):
    rows = iter(range(10))
    for i in P(n):
        add(X[next(rows)], Y[i])


@refused(1006)
def next_of_a_global_iterator(n):
    for i in P(n):
        add(X[next(NUMBERS)], Y[i])


@refused(1006)
def generator_is_used_up(n):
    rows = (row for row in range(9))
    for i in P(n):
        for row in rows:
            add(X[row], Y[i])


@refused(1006)
def object_that_is_called(n):
    counter = Called()
    for i in P(n):
        add(X[counter()], Y[i])


@refused(1006)
def function_in_a_list(n):
    rows = []
    functions = [lambda: rows.append(1)]
    for i in P(n):
        functions[0]()
        add(X[len(rows)], Y[i])


@refused(1006)
def another_name_of_a_list(n):
    rows = []
    for i in P(n):
        again = rows
        again.append(1)
        add(X[len(rows)], Y[i])


@refused(1006)
def heap(n):
    rows = [3]
    for i in P(n):
        heapq.heappush(rows, 1)
        add(X[len(rows)], Y[i])


@refused(1006)
def attribute_by_name(n):
    box = types.SimpleNamespace(row=0)
    for i in P(n):
        setattr(box, "row", box.row + 1)  # noqa: B010
        add(X[box.row], Y[i])


@refused(1006)
def function_in_a_branch_changes_what_is_outside(n):
    for i in P(n):
        rows = []
        with P.when(i > 2):
            push(rows)
        add(X[len(rows)], Y[i])


@refused(1001)
def loops_in_a_tuple(n):
    for _ in P(n), (1, 2):
        add(X[0], Y[0])


@refused(1002)
def elements_are_compared(n):
    for i in P(n):
        if X[i] == X[0]:
            add(X[i], Y[i])


@refused(1002)
def indices_of_a_row_are_looked_at(n):
    tokens = ragged(2, [0, 1])
    for i in P(2):
        if tokens[i]:
            add(X[i], Y[i])


@kernel
def number(x: InOut, value: Scalar):
    x[0, 0] = value


@python_kernel
def set_slot(slot: InOut, value: Scalar):
    slot[0] = value


@refused(1047)
def slot_is_written_behind_its_expression(n):
    slot = Slot(1)
    before = slot * 1
    set_slot(slot, 2)
    with P.when(before == 1):
        add(X[0], Y[0])


@refused(1047)
def slot_is_written_in_the_loop_behind_the_use(n):
    slot = Slot(1)
    go_on = slot > 0
    for i in P.seq(n):
        with P.when(go_on):
            add(X[i], Y[i])
        set_slot(slot, 0)


@pytest.mark.parametrize(("code", "function"), REFUSED)
def test_a_workload_that_python_would_run_otherwise_is_refused(code, function):
    with pytest.raises(errors.TraceError) as caught:
        workload(function).ir()
    assert caught.value.code == f"WSP{code}", str(caught.value)
    assert caught.value.file == __file__


def test_a_slot_that_bounds_a_loop_may_change_in_it():
    """`slot - i` is negative once a task has made the slot smaller, so that `//` and `%` must round down."""

    @workload
    def tasks(n):
        slot = Slot(4)
        for i in P(slot):
            set_slot(slot, 0)
            with P.when((slot - i) // 2 == -1):
                mark(Y, 1)
            with P.when((slot - i) % 4 == 3):
                mark(Y, 2)

    y = np.zeros((2, 8), np.float32)
    tasks.compile(enable_debug=True).execute(Y=y)
    # The numbers `-i` for `i` from 0 to 3: -1 and -2 are `-1` when halved, -1 leaves 3.
    assert y[0, :3].tolist() == [0.0, 2.0, 1.0]


def test_conditions_of_slots_hold_where_they_are_written():
    @workload
    def rounds(n):
        slot = Slot(1)
        again = slot > 0
        for _ in P.loop(again, 10):
            set_slot(slot, 0)
            with P.when(slot == 0):
                add(X[0], Y[0])

    assert "while" in rounds.ir()


def test_kernels_may_be_called_like_methods_of_lists():
    module = types.ModuleType("kernels")
    module.add = module.update = add

    class Kernels:
        append = add

    @workload
    def tasks(n):
        for i in P(n):
            module.add(X[i], Y[i])
            module.update[i](X[i], Y[i])
            Kernels.append(X[i], Y[i])

    assert tasks.ir().count("add(") >= 3


def test_functions_may_change_what_the_iteration_makes():
    @workload
    def tasks(n):
        for i in P(n):
            rows = []
            push(rows)
            add(X[len(rows)], Y[i])

    assert "add(X[1], Y[i])" in tasks.ir()


def test_either_side_of_a_conditional_expression_heads_a_loop():
    for ordered, word in ((False, "parallel for"), (True, "for")):

        @workload
        def tasks(n, ordered=ordered):
            for i in P.seq(n) if ordered else P(n):
                add(X[i], Y[i])

        body = tasks(ordered=int(ordered)).ir().partition("workload ")[2]
        assert body.partition("{")[2].strip().startswith(word)


def tile_in_a_tuple(x, z):
    pair = (x, 3)
    x = x * 2.0
    return pair[0] + x


def tuple_of_tuples(x, z):
    pair = (x, (z, x))
    x = x + 1.0
    z = z * 2.0
    other = (pair[1], pair[0])
    z = z * 2.0
    return other[0][0] + other[0][1] * 10.0 + other[1] * 100.0 + x + z


def nested_exchange(x, z):
    y = x + z
    (x, (z, y)) = (z, (x, x - y))
    return x + z * 10.0 + y * 100.0


def tuple_before_a_loop(x, z):
    pair = (x, z)
    for _ in range(3):
        x = pair[0] + x
        z = pair[1] * 0.5 + z
    return x + z * 3.0


def tuple_assigned_from_itself(x, z):
    pair = (x, z)
    pair = (pair[1], pair[0])
    x, z = pair
    pair = (z + 1.0, x)
    return pair[0] * 3.0 + pair[1] + x * 7.0


def twice(t):
    t = t * 2.0
    return t, t


def before_and_after(t):
    pair = (t * 3.0, t)
    t = t + 1.0
    return pair


def results_of_helpers(x, z):
    first, second = twice(x)
    first = first * 3.0
    pair = before_and_after(z)
    x = x + pair[1]
    z = before_and_after(pair[0])[0] - z
    return first + second * 10.0 + x * 100.0 + z + pair[0]


TILES = [
    tile_in_a_tuple,
    tuple_of_tuples,
    nested_exchange,
    tuple_before_a_loop,
    tuple_assigned_from_itself,
    results_of_helpers,
]


@pytest.mark.parametrize("function", TILES, ids=lambda function: function.__name__)
def test_tiles_in_tuples_are_values(function):
    @kernel
    def run(x: In, z: In, y: Out):
        pto.store(y, function(pto.load(x), pto.load(z)))

    A, B, C = (tensor((4, 8), f32, name=name) for name in "ABC")

    @workload
    def once():
        run(A, B, C)

    a, b = np.arange(32, dtype=np.float32).reshape(4, 8), np.full((4, 8), 0.25, np.float32)
    c = np.zeros_like(a)
    once.compile(enable_debug=True).execute(A=a, B=b, C=c)
    np.testing.assert_array_equal(c, function(a, b))


def comparisons_are_stored(a, b, y):
    both = a > 2 and b > 3
    y[0, 0] = 1 if both or not a else 2
    y[0, 1] = 1 if (a and b) or a - b > 3 else 2


def numbers_decide_a_loop(a, b, y):
    n = 0
    while n < 9 and (a or b) and not n == 5:
        n += 1
    y[0, 0] = n


def constants_decide(a, b, y):
    y[0, 0] = 0 or a
    y[0, 1] = 5 and b
    y[0, 2] = 7 or a


def the_right_side_stands_for_itself(a, b, y):
    if a and b // a > 0:
        y[0, 0] = 3


def float_exponent(a, b, y):
    y[0, 0] = (a**2.0) / 3


ROWS = [[1, 2], (1, 2)]


def lists_are_no_tuples(a, b, y):
    y[0, 0] = 1 if ROWS[0] == [1, 2] else 2
    y[0, 1] = 1 if ROWS[1] == [1, 2] else 2
    y[0, 2] = max([3, 4])


SCALARS = [
    comparisons_are_stored,
    numbers_decide_a_loop,
    constants_decide,
    the_right_side_stands_for_itself,
    float_exponent,
    lists_are_no_tuples,
]


def program_of(function):
    @kernel
    def run(a: Scalar, b: Scalar, y: InOut):
        function(a, b, y)

    Z = tensor((1, 4), f32, name="Z")

    @workload
    def once(a, b):
        run(a, b, Z)

    return once.compile(enable_debug=True)


@pytest.mark.parametrize("function", SCALARS, ids=lambda function: function.__name__)
def test_numbers_are_those_of_python(function):
    program = program_of(function)
    for a, b in itertools.product((0, 1, 3, 6), (0, 2, 5)):
        got, want = np.zeros((1, 4), np.float32), np.zeros((1, 4), np.float32)
        program.execute(a=a, b=b, Z=got)
        function(a, b, want)
        np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=f"a = {a}, b = {b}")


def value_of_and(a, b, y):
    y[0, 0] = a and b


def value_of_or(a, b, y):
    c = a or 5
    y[0, 0] = c


def constant_behind_and(a, b, y):
    y[0, 0] = (a > 2) and 5


@pytest.mark.parametrize("function", [value_of_and, value_of_or, constant_behind_and])
def test_and_or_of_numbers_are_no_values(function):
    with pytest.raises(errors.KernelError) as caught:
        program_of(function)
    assert caught.value.code == "WSP1125"
    assert any("a if c else b" in text for text in caught.value.help)
