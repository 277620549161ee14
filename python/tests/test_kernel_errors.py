"""Mistakes in the source of kernels: each has its code, the very place, and what to write instead."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pto_wsp  # noqa: F401  (annotations that are text name it)
import pytest
from pto_wsp import Tensor, errors, pto
from pto_wsp._seam import ConstexprArg, ScalarArg, ViewSpec
from pto_wsp.dtypes import bool_, f16, f32, i32
from pto_wsp.kernels import Constexpr, In, Out, Scalar, codes, kernel, python_kernel


@dataclass(frozen=True)
class Case:
    """A mistake: the code, the text that the error points at, and a part of the help."""

    run: Callable[[], object]
    code: int
    at: str
    help: str


CASES: list[Case] = []


def mistake(code: int, at: str, help: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    def register(run: Callable[[], object]) -> Callable[[], object]:
        CASES.append(Case(run, code, at, help))
        return run

    return register


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.run.__name__)
def test_mistake(case: Case) -> None:
    with pytest.raises(errors.KernelError) as caught:
        made = case.run()
        if made is not None:
            compiled(made)
    error = caught.value
    assert error.code == f"WSP{case.code}", str(error)
    place = error.diagnostics[0].place
    line = linecache.getline(place.file, place.line)
    assert line[place.column - 1 :].startswith(case.at), str(error)
    if place.end_line == place.line and case.at:
        assert line[place.column - 1 : place.end_column - 1].startswith(case.at.split("(")[0]), str(error)
    assert error.help and case.help in " ".join(error.help), str(error)
    assert (
        "{" not in error.message
        and error.message[0] != error.message[0].upper()
        or error.message[0] in "`0123456789-"
    )


def compiled(
    k, *, coords: int = 0, rows: int | None = 64, most: int | None = 64, dtype: str = "f32", **constants
):
    """Specialises a kernel whose views have `rows` rows and 128 columns; `t…` are views of eight integers."""
    args = []
    for param in k.signature:
        if param.kind == "scalar":
            args.append(ScalarArg())
        elif param.kind == "constexpr":
            args.append(ConstexprArg(constants.get(param.name, param.default)))
        elif param.name.startswith("t"):
            args.append(ViewSpec("i32", (0,), (8,), (8,)))
        else:
            args.append(ViewSpec(dtype, (0, 1), (rows, 128), (most, 128)))
    return k.specialise(coords, args, ("<call>", 1, 0, 1, 1))


# ---- What can be a kernel.


@mistake(codes.NOT_A_FUNCTION, "", "write a `def`")
def a_lambda():
    kernel(lambda x: None)


@mistake(codes.NOT_A_FUNCTION, "", "decorate a function")
def a_class():
    @kernel
    class K:
        pass


@mistake(codes.NOT_A_FUNCTION, "kernel", "let one")
def decorated_twice():
    @kernel
    @kernel
    def k(x: In): ...


@mistake(codes.NOT_A_FUNCTION, "kernel", "drop the other decorator")
def wrapped():
    def other(function):
        @functools.wraps(function)
        def inner(*args):
            return function(*args)

        return inner

    @kernel
    @other
    def k(x: In): ...


@mistake(codes.NOT_A_FUNCTION, "kernel", "without `yield`")
def a_generator():
    @kernel
    def k(x: In):
        yield x


@mistake(codes.NO_SOURCE, "", "into a file")
def no_source():
    scope = {"In": In, "__name__": "typed"}
    exec("def k(x: In): pass", scope)
    kernel(scope["k"])


# ---- Parameters.


@mistake(codes.NO_ANNOTATION, "y", "`y: In`")
def no_annotation():
    @kernel
    def k(x: In, y): ...


@mistake(codes.BAD_ANNOTATION, "x: int", "`x: In`")
def wrong_annotation():
    @kernel
    def k(x: int): ...


@mistake(codes.BAD_ANNOTATION, "x: Inn", "`x: In`")
def misspelt_annotation():
    @kernel
    def k(x: Inn): ...  # noqa: F821


@pytest.mark.parametrize("said", ['Ragged["b"]', "DenseDyn(3)", "Table[3]", "Dense[2:1:0]"])
def test_a_kernel_is_not_told_to_take_what_workloads_take(said):
    def k(x, y: Out): ...

    k.__annotations__["x"] = f"pto_wsp.{said}"
    with pytest.raises(errors.KernelError) as failed:
        kernel(k)
    assert failed.value.code == "WSP1103"
    assert failed.value.help == [
        "write `x: In`, `Out`, `InOut`, `Scalar` or `Constexpr`",
        "views may say more: `In[f32]`, `In[Tensor[f32, 64, None]]`",
    ]


@mistake(codes.BAD_ANNOTATION, "x: In[0]", "In[f32]")
def wrong_type_in_an_annotation():
    @kernel
    def k(x: In[0]): ...


@mistake(codes.PARAMETER_FORM, "args: In", "one by one")
def any_number_of_parameters():
    @kernel
    def k(*args: In): ...


@mistake(codes.BAD_DEFAULT, "n: Scalar", "Constexpr")
def default_of_a_scalar():
    @kernel
    def k(n: Scalar = 0.5): ...


@mistake(codes.BAD_OPTION, "def k", "vector")
def wrong_unit():
    @kernel(unit="gpu")
    def k(x: In): ...


@mistake(codes.BAD_OPTION, "def k", "cycles")
def wrong_cost():
    @kernel(cost=1.5)
    def k(x: In): ...


@mistake(codes.BAD_OPTION, "def k", "2**63 - 1")
def cost_beyond_64_bits():
    @python_kernel(cost=2**63)
    def k(x: In): ...


# ---- Statements and expressions.


@mistake(codes.STATEMENT, "try:", "stops the run")
def try_statement():
    @kernel
    def k(x: In, y: Out):
        try:
            pto.store(y, pto.load(x))
        except ValueError:
            pass

    return k


@mistake(codes.STATEMENT, "with open", "no resources")
def with_statement():
    @kernel
    def k(x: In, y: Out):
        with open("a"):
            pass

    return k


@mistake(codes.STATEMENT, "def inner", "outside of the kernel")
def nested_function():
    @kernel
    def k(x: In, y: Out):
        def inner():
            pass

    return k


@mistake(codes.STATEMENT, "import math", "top of the file")
def import_in_a_kernel():
    @kernel
    def k(x: In, y: Out):
        import math  # noqa: F401

    return k


@mistake(codes.STATEMENT, "t.rows", "variables")
def assignment_to_an_attribute():
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        t.rows = 4

    return k


@mistake(codes.STATEMENT, "t[0, 0]", "mask")
def assignment_to_an_element_of_a_tile():
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        t[0, 0] = 4.0

    return k


@mistake(codes.STATEMENT, "y[0, 0] = 1.0", "before `break`")
def else_of_a_loop():
    @kernel
    def k(x: In, y: Out, n: Scalar):
        for _ in range(n):
            pass
        else:
            y[0, 0] = 1.0

    return k


@mistake(codes.EXPRESSION, "[pto.load(x) for", "`for` loop")
def comprehension():
    @kernel
    def k(x: In, y: Out):
        tiles = [pto.load(x) for _ in range(2)]
        pto.store(y, tiles[0])

    return k


@mistake(codes.EXPRESSION, "n := 3", "statement of its own")
def walrus():
    @kernel
    def k(x: In, y: Out):
        y[0, 0] = (n := 3)  # noqa: F841

    return k


@mistake(codes.EXPRESSION, "lambda v: v", "outside of the kernel")
def lambda_in_a_kernel():
    @kernel
    def k(x: In, y: Out):
        f = lambda v: v  # noqa: E731
        y[0, 0] = f(1)

    return k


# ---- Names and calls.


@mistake(codes.UNKNOWN_NAME, "gaim", "did you mean `gain`")
def unknown_name():
    @kernel
    def k(x: In, gain: In, y: Out):
        pto.store(y, pto.load(x) * gaim)  # noqa: F821

    return k


@mistake(codes.UNKNOWN_FUNCTION, "pto.rowsun", "did you mean `rowsum`")
def unknown_function():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.rowsun(pto.load(x)))

    return k


@mistake(codes.UNKNOWN_FUNCTION, "pto.softmax", "pto.rowmax")
def function_that_is_not_offered():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.softmax(pto.load(x)))

    return k


@mistake(codes.UNKNOWN_ATTRIBUTE, "t.exp", "pto.exp(…)")
def method_of_a_tile():
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        pto.store(y, t.exp())

    return k


@mistake(codes.UNKNOWN_ATTRIBUTE, "math.pie", "did you mean `pi`")
def unknown_attribute_of_a_module():
    @kernel
    def k(x: In, y: Out):
        y[0, 0] = math.pie

    return k


@mistake(codes.NOT_CALLABLE, "np.exp(", "`pto.exp(…)`")
def numpy_in_a_kernel():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, np.exp(pto.load(x)))

    return k


@mistake(codes.NOT_CALLABLE, "print(", "store what is to be seen")
def print_in_a_kernel():
    @kernel
    def k(x: In, y: Out):
        print(x.shape)

    return k


@mistake(codes.NOT_CALLABLE, "open(", "functions of `pto`")
def any_function():
    @kernel
    def k(x: In, y: Out):
        open("a")

    return k


@kernel
def other_kernel(x: In, y: Out):
    pto.store(y, pto.load(x))


@mistake(codes.NOT_CALLABLE, "other_kernel(", "share a plain function")
def kernel_in_a_kernel():
    @kernel
    def k(x: In, y: Out):
        other_kernel(x, y)

    return k


@mistake(codes.ARGUMENTS, "pto.maximum(", "maximum(a, b)")
def missing_argument():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.maximum(pto.load(x)))

    return k


@mistake(codes.ARGUMENTS, "pto.exp(", "exp(x)")
def unknown_keyword():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.exp(pto.load(x), fast=True))

    return k


@mistake(codes.ARGUMENTS, "x", "pto.load(view)")
def view_for_a_tile():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.rowmax(x))

    return k


@mistake(codes.ARGUMENTS, "x[0, 1]", "take it as it is")
def element_for_a_view():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.load(x[0, 1]))

    return k


@mistake(codes.ARGUMENTS, "pto.store(y, 1.0)", "y[i, j] = value")
def number_for_a_tile():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, 1.0)

    return k


# ---- Variables.


@mistake(codes.UNASSIGNED, "t", "give `t` its value before")
def assigned_on_one_way():
    @kernel
    def k(x: In, y: Out, n: Scalar):
        if n > 3:
            t = pto.load(x)
        pto.store(y, t)

    return k


@mistake(codes.UNASSIGNED, "i", "give `i` its value before")
def loop_variable_of_a_loop_that_may_be_empty():
    @kernel
    def k(x: In, y: Out, n: Scalar):
        for i in range(n):
            pass
        y[0, 0] = i

    return k


@mistake(codes.UNASSIGNED, "acc", "assign `acc` first")
def used_before_it_is_assigned():
    @kernel
    def k(x: In, y: Out, n: Scalar):
        acc += pto.load(x)  # noqa: F821
        pto.store(y, acc)

    return k


@mistake(codes.TYPE_CHANGE, "m", "start with a float: `m = 0.0`")
def integer_that_becomes_a_float():
    @kernel
    def k(x: In, y: Out, n: Scalar):
        m = 0
        for i in range(n):
            m = m + x[i, 0]
        y[0, 0] = m

    return k


@mistake(codes.TYPE_CHANGE, "t", "pto.cast(…, f16)")
def tile_that_changes_its_elements():
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x, dtype=f16)
        t = t * pto.load(x)
        pto.store(y, t)

    return k


@mistake(codes.TYPE_CHANGE, "t", "another name for a tile of 64 x 1 f32")
def tile_that_changes_its_shape():
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        t = pto.rowsum(t)
        pto.store(y, t)

    return k


@mistake(codes.TYPE_CHANGE, "acc", "acc = pto.zeros(")
def number_that_becomes_a_tile():
    @kernel
    def k(x: In, y: Out, n: Scalar):
        acc = 0.0
        for _ in range(n):
            acc = acc + pto.load(x)
        pto.store(y, acc)

    return k


@mistake(codes.DIFFERS, "view", "give `view` its value before")
def view_that_differs_between_ways():
    @kernel
    def k(x: In, y: Out, n: Scalar):
        if n > 3:
            view = x[0:8]
        else:
            view = x[8:16]
        pto.store(y[0:8], pto.load(view))

    return k


@mistake(codes.DIFFERS, "pto.load(x) if", "tiles of one type")
def sides_of_different_kinds():
    @kernel
    def k(x: In, y: Out, n: Scalar):
        pto.store(y, pto.load(x) if n > 3 else 0.0)

    return k


# ---- Shapes.


@mistake(codes.SHAPES, "t + pto.load(x[:, 0:32])", "must have the shape of the result")
def tiles_of_different_shapes():
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        pto.store(y, t + pto.load(x[:, 0:32]))

    return k


@mistake(codes.SHAPES, "pto.matmul(t, t)", "pto.matmul(a, b.T)")
def product_that_does_not_meet():
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        pto.store(y, pto.matmul(t, t))

    return k


@mistake(codes.SHAPES, "pto.store(y, pto.rowmax", "a row is not repeated")
def column_stored_to_a_matrix():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.rowmax(pto.load(x)))

    return k


@mistake(codes.SHAPE_CONSTANT, "(n, 1)", "pto.min(n, 64)")
def room_that_is_not_known():
    @kernel
    def k(x: In, y: Out, n: Scalar):
        pto.store(y, pto.zeros((n, 1)))

    return k


@mistake(codes.SHAPE_CONSTANT, "(64, 0)", "from 1 on")
def tile_without_columns():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.zeros((64, 0)))

    return k


@mistake(codes.SHAPE_MISSING, "pto.load(x)", "shape=(64, 128)")
def extent_that_is_not_known():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.load(x))

    compiled(k, rows=None, most=None)


@mistake(codes.TOO_LARGE, "(4096, 4096)", "smaller tiles")
def tile_that_is_too_large():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.zeros((4096, 4096)))

    return k


# ---- Views.


@mistake(codes.STORE_TO_IN, "pto.store(x,", "x: Out")
def store_to_an_input():
    @kernel
    def k(x: In, y: Out):
        pto.store(x, pto.load(x))

    return k


@mistake(codes.STORE_TO_IN, "x[0, 0]", "x: Out")
def element_of_an_input():
    @kernel
    def k(x: In, y: Out):
        x[0, 0] = 1.0

    return k


@mistake(codes.LOAD_FROM_OUT, "pto.load(y)", "y: InOut")
def load_of_an_output():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.load(y) + pto.load(x))

    return k


@mistake(codes.INDEX_TYPE, "n / 2", "//")
def float_index():
    @kernel
    def k(x: In, y: Out, n: Scalar):
        y[0, n / 2] = 1.0

    return k


@mistake(codes.INDEX_TYPE, "sizes[n]", "integer tensor")
def tuple_with_an_index_that_is_not_known():
    @kernel
    def k(x: In, y: Out, n: Scalar, sizes: Constexpr = (1, 2)):
        y[0, 0] = sizes[n]

    return k


@mistake(codes.INDEX_FORM, "0, 1, 2", "takes 2")
def too_many_indices():
    @kernel
    def k(x: In, y: Out):
        y[0, 1, 2] = 1.0

    return k


@mistake(codes.INDEX_FORM, "2", "lo:hi")
def slice_with_a_step():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.load(x[::2]))

    return k


@mistake(codes.INDEX_FORM, "t[0]", "slice the view")
def index_of_a_tile():
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        y[0, 0] = t[0]

    return k


@mistake(codes.ELEMENTS, "pto.store", "pto.cast(tile, f32)")
def tile_of_integers():
    @kernel
    def k(table: In, y: Out):
        pto.store(y, pto.load(table))

    return k


@mistake(codes.ELEMENTS, "pto.exp", "pto.cast(tile, f32)")
def function_of_integers():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.exp(pto.cast(pto.load(x), i32)))

    return k


def of_f64(k):
    """Specialises a kernel whose views are of `f64`."""
    compiled(k, dtype="f64")


@mistake(codes.ELEMENTS, "pto.max", "pto.colmax(pto.rowmax(tile))")
def number_of_a_tile_of_f64():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.load(x) / pto.max(pto.load(x)))

    of_f64(k)


@mistake(codes.ELEMENTS, "0, 1", "x[i:i+1]")
def element_of_a_view_of_f64():
    @kernel
    def k(x: In, y: Out):
        y[0, 0] = x[0, 1]

    of_f64(k)


@mistake(codes.ELEMENTS, "y[0, 0]", "y[i:i+1]")
def element_stored_to_a_view_of_f64():
    @kernel
    def k(y: Out):
        y[0, 0] = 1.0

    of_f64(k)


@mistake(codes.RANGE, "200", "index is from 0 to 127")
def constant_index_outside_of_its_dimension():
    @kernel
    def k(x: In, y: Out):
        y[0, 200] = 1.0

    return k


@mistake(codes.RANGE, "(8, 8)", "math.inf")
def number_that_no_float_holds():
    @kernel
    def k(x: In, y: Out):
        pto.store(y[0:8, 0:8], pto.full((8, 8), 1e40))

    return k


# ---- Numbers and conditions.


@mistake(codes.CONDITION, "t", "pto.max(tile) > 0")
def tile_as_a_condition():
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        if t:
            pto.store(y, t)

    return k


@mistake(codes.CONDITION, "t > 0", "pto.max(tile) > 0")
def mask_as_a_condition():
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        if t > 0:
            pto.store(y, t)

    return k


@mistake(codes.OPERAND, "t % 2", "`+`, `-`, `*`, `/`")
def remainder_of_a_tile():
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        pto.store(y, t % 2)

    return k


@mistake(codes.OPERAND, "x * 2.0", "pto.load(view)")
def arithmetic_of_a_view():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, x * 2.0)

    return k


@mistake(codes.OPERAND, "x[0, 0] // 2", "`/`")
def floor_division_of_floats():
    @kernel
    def k(x: In, y: Out):
        y[0, 0] = x[0, 0] // 2

    return k


@mistake(codes.COMPILE_TIME, "1 // 0", "constants")
def constants_that_cannot_be_computed():
    @kernel
    def k(x: In, y: Out):
        y[0, 0] = 1 // 0

    return k


@mistake(codes.ASSERTION, "assert x.shape[0] == 32", "Constexpr")
def assertion():
    @kernel
    def k(x: In, y: Out):
        assert x.shape[0] == 32, "32 rows"
        pto.store(y, pto.load(x))

    return k


@mistake(codes.LOOP, "x.shape", "range(n)")
def loop_over_something_else():
    @kernel
    def k(x: In, y: Out):
        for n in x.shape:
            y[0, 0] = n

    return k


@mistake(codes.LOOP, "n", "start + i * step")
def step_that_is_not_known():
    @kernel
    def k(x: In, y: Out, n: Scalar):
        for i in range(0, 64, n):
            y[0, i] = 1.0

    return k


@mistake(codes.UNUSED, "pto.mask(", "t = …")
def result_that_is_not_used():
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        pto.mask(t, cols=4, value=0.0)
        pto.store(y, t)

    return k


@mistake(codes.UNUSED, "pto.insert(", "t = …")
def part_that_goes_nowhere():
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        pto.insert(t, pto.load(x[0:1, 0:4]), 0, 0)
        pto.store(y, t)

    return k


@mistake(codes.INDEX_TYPE, "1.5", "round it")
def band_that_begins_between_columns():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.mask_band(pto.load(x), 1.5, 4, 1, 0.0))

    return k


@mistake(codes.ARGUMENTS, "x", "load it first")
def band_of_a_view():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.mask_band(x, 1, 4, 1, 0.0))

    return k


@mistake(codes.RANGE, "pto.mask_band(", "in that range")
def band_of_fewer_than_no_rows():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.mask_band(pto.load(x), 1, 4, -1, 0.0))

    return k


@mistake(codes.INDEX_TYPE, "0.5", "round it")
def columns_that_begin_at_a_half():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.iota((64, 128), 0.5))

    return k


@mistake(codes.ELEMENTS, "(64, 128)", "take `i32`")
def columns_of_truth_values():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.iota((64, 128), 0, bool_))

    return k


@mistake(codes.SHAPE_CONSTANT, "(n, 128)", "give constants")
def columns_of_rows_without_a_bound():
    @kernel
    def k(x: In, y: Out, n: Scalar):
        pto.store(y, pto.iota((n, 128)))

    return k


@mistake(codes.SHAPES, "pto.insert(", "a smaller part")
def part_that_is_too_wide():
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        pto.store(y, pto.insert(t, pto.load(x[0:1]), 0, 1))

    return k


@mistake(codes.SHAPES, "pto.extract(", "from 0 to 127")
def part_past_the_last_column():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.extract(pto.load(x), (1, 4), 0, 128))

    return k


@mistake(codes.SHAPE_CONSTANT, "pto.extract(", "hides the elements")
def part_of_a_size_that_varies():
    @kernel
    def k(x: In, y: Out, n: Scalar):
        pto.store(y, pto.extract(pto.load(x), (1, pto.min(n, 4)), 0, 0))

    return k


@mistake(codes.ARGUMENTS, "2.0", "`pto.full`")
def hyperbolic_tangent_of_a_number():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.load(x) * pto.tanh(2.0))

    return k


@mistake(codes.UNUSED, "pto.topk(", "v, i = …")
def lists_that_are_not_taken():
    @kernel
    def k(x: In, y: Out):
        v, i = pto.full((64, 4), 0.0), pto.full((64, 4), 0.0)
        pto.topk(v, i, pto.load(x), 0)

    return k


@mistake(codes.RETURN, "return pto.load(x)", "y: Out")
def kernel_that_returns_a_value():
    @kernel
    def k(x: In):
        return pto.load(x)

    return k


def first_positive(x):
    for i in range(8):
        if x[i, 0] > 0:
            return i
    return -1


@mistake(codes.RETURN, "return i", "`break`")
def return_in_a_loop_of_a_helper():
    @kernel
    def k(x: In, y: Out):
        y[0, 0] = first_positive(x)

    return k


def again(t):
    return again(t)


@mistake(codes.RECURSION, "again(t)", "loop")
def helper_that_calls_itself():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, again(pto.load(x)))

    return k


@mistake(codes.COORDINATE, "2", "coordinates 0 and 1")
def coordinate_that_is_not_there():
    @kernel
    def k(x: In, y: Out):
        y[0, 0] = pto.coord(2)

    compiled(k, coords=2)


@mistake(codes.OUTSIDE, "pto.exp(1.0)", "@kernel")
def function_outside_of_a_kernel():
    pto.exp(1.0)


# ---- Calls of kernels: the place is the call's.


def refused(k, code: int, help: str, **options) -> None:
    with pytest.raises(errors.KernelError) as caught:
        compiled(k, **options)
    assert caught.value.code == f"WSP{code}" and help in " ".join(caught.value.help), str(caught.value)
    assert (caught.value.file, caught.value.line) == ("<call>", 1)


def test_types_and_extents_of_annotations_are_checked_at_the_call():
    @kernel
    def typed(x: In[f16], y: Out):
        pto.store(y, pto.load(x))

    @kernel
    def flat(x: In[Tensor[f32, 64]], y: Out):
        pto.store(y, pto.load(x))

    @kernel
    def wide(x: In[Tensor[f32, 64, 256]], y: Out[Tensor[f32, None, 128]]):
        pto.store(y, pto.load(x))

    refused(typed, codes.ARGUMENT_VIEW, "declare the tensor with that type")
    refused(flat, codes.ARGUMENT_VIEW, "drops a dimension")
    refused(wide, codes.ARGUMENT_VIEW, "slice the tensor")


def test_an_annotated_extent_is_known_to_the_kernel():
    @kernel
    def k(x: In[Tensor[f32, 32, None]], y: Out[Tensor[f32, 32, None]]):
        pto.store(y, pto.load(x))

    made = compiled(k, rows=None, most=None)
    assert made.compiled.entry["views"][0]["extents"] == [32, 128]


def test_constants_must_be_hashable():
    @kernel
    def k(x: In, c: Constexpr): ...

    refused(k, codes.ARGUMENT_VIEW, "tuples", c=[1])


def test_an_error_in_a_helper_shows_the_calls():
    def scale(t, v):
        return t * v.shape[5]

    @kernel
    def k(x: In, y: Out):
        pto.store(y, scale(pto.load(x), x))

    with pytest.raises(errors.KernelError) as caught:
        compiled(k)
    assert caught.value.code == f"WSP{codes.COMPILE_TIME}"
    assert [label.label for label in caught.value.diagnostics[0].labels] == ["in this call of `scale`"]


def test_python_kernels_have_the_same_rules_for_parameters():
    with pytest.raises(errors.KernelError) as caught:

        @python_kernel
        def k(x: In, y):
            pass

    assert caught.value.code == f"WSP{codes.NO_ANNOTATION}"


def test_every_code_is_provoked_by_a_test():
    files = ("test_kernel_errors.py", "test_kernel_objects.py", "test_outs.py", "test_texts.py")
    text = "".join(Path(__file__).with_name(file).read_text() for file in files)
    named = {
        n.attr
        for n in ast.walk(ast.parse(text))
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "codes"
    }
    known = {name for name, value in vars(codes).items() if isinstance(value, int) and name.isupper()}
    assert known <= named


def test_docstrings_and_signatures_of_all_functions():
    from pto_wsp.kernels.builtins import TABLE

    assert set(TABLE) == set(pto.__all__)
    for name in TABLE:
        function = getattr(pto, name)
        assert inspect.isroutine(function) and inspect.getdoc(function), name
