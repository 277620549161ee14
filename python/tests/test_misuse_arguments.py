"""Calls of public functions and classes with arguments that they have no parameters for: each is refused with
a code, at its line, in words of the package.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pto_wsp
import pytest
from misuse import Cases, Misuse, X, Y, check, copies, copy, rows
from pto_wsp import (
    Advance,
    BatchDecode,
    BatchPrefill,
    Block,
    Constexpr,
    Dense,
    DenseDyn,
    Deps,
    DispatchPolicy,
    Graph,
    GraphRun,
    In,
    P,
    Pools,
    Progress,
    Ragged,
    ReadyPolicy,
    Scalar,
    Sparse,
    StartPolicy,
    Stats,
    Table,
    Task,
    TaskWindow,
    Tensor,
    Tile,
    TimingPolicy,
    TracePolicy,
    Workload,
    errors,
    f16,
    f32,
    i64,
    kernel,
    pto,
    table,
    tensor,
    tile,
    workload,
    zeros,
)

CASES = Cases([])
PROGRAM: Any = copies.compile()


@CASES.add(errors.ArgumentError, "WSP1273", "it comes from a call of a kernel in a workload: `k[i](x, y)`")
def a_task_that_is_made_by_its_name() -> None:
    Task()  # here


@CASES.add(errors.ArgumentError, "WSP1273", "it comes from `graph.run(…)`")
def a_run_of_a_graph_that_is_made_by_its_name() -> None:
    GraphRun()  # here


@CASES.add(errors.ArgumentError, "WSP1273", "write `Pools.shared(…)`, `Pools.by_unit(…)`")
def pools_of_no_mode() -> None:
    Pools()  # here


@CASES.add(errors.ArgumentError, "WSP1273", "it comes from `program.execute(…)`")
def figures_that_are_made_by_their_name() -> None:
    Stats(1, 2)  # here


@CASES.add(errors.ArgumentError, "WSP1273", "it comes from `program.graph(…)`")
def a_graph_of_one_number() -> None:
    Graph(3)  # here


@CASES.add(errors.ArgumentError, "WSP1273", "it comes from `run.progress`")
def progress_of_nothing() -> None:
    Progress()  # here


@CASES.add(errors.ArgumentError, "WSP1273", "a call of a function under `@graph.kernel(…)`")
def a_block_that_is_made_by_its_name() -> None:
    Block("k")  # here


@CASES.add(errors.ArgumentError, "WSP1273", "it comes from `plan.advance()`")
def an_advance_of_nothing() -> None:
    Advance()  # here


@CASES.add(errors.ArgumentError, "WSP1273", "it comes from `@workload` above a function")
def a_workload_of_nothing() -> None:
    Workload()  # here


@CASES.add(errors.ArgumentError, "WSP1273", "`TaskWindow(capacity, mode='stall')`")
def a_window_of_no_capacity() -> None:
    TaskWindow()  # here


@CASES.add(errors.ArgumentError, "WSP1273", "did you mean `kv_layout`?")
def a_batch_of_an_option_that_is_none() -> None:
    BatchDecode(layout="NHD")  # here


@CASES.add(errors.ArgumentError, "WSP1273", "`BatchDecode` is given 1 argument without a name and takes none")
def a_batch_with_a_layout_without_its_name() -> None:
    BatchDecode("NHD")  # here


@CASES.add(
    errors.ArgumentError, "WSP1273", "`BatchDecode.plan` is not given `head_dim`, `page_size`, `dtype`"
)
def a_plan_of_a_batch_with_half_of_its_arguments() -> None:
    BatchDecode().plan([0, 1], [0], [1], 8, 2)  # here


@CASES.add(errors.ArgumentError, "WSP1273", "did you mean `splits`?")
def a_plan_of_a_batch_with_a_typing_error() -> None:
    BatchDecode().plan([0, 1], [0], [1], 8, 2, 64, 16, f32, split="whole")  # here


@CASES.add(errors.ArgumentError, "WSP1273", "`BatchPrefill.run` is not given `kv`")
def a_run_of_a_batch_without_a_cache() -> None:
    BatchPrefill().run(np.zeros((1, 8, 64), np.float32))  # here


@CASES.add(errors.ArgumentError, "WSP1273", "`zeros` is given `shape` twice, by its place and by its name")
def a_shape_that_is_given_twice() -> None:
    zeros((4,), f32, shape=(5,))  # here


@CASES.add(errors.ArgumentError, "WSP1273", "its parameters: `tile(index, length, start=0, end=None)`")
def a_tile_without_a_length() -> None:
    tile(0)  # here


@CASES.add(errors.ArgumentError, "WSP1273", "`tensor` is not given `what`")
def a_tensor_of_nothing() -> None:
    tensor()  # here


@CASES.add(errors.ArgumentError, "WSP1273", "`table` is given")
def a_table_of_many() -> None:
    table([1], [2], [3], [4])  # here


@CASES.add(errors.ArgumentError, "WSP1273", "`where` is not given `a`, `b`")
def a_tile_operation_without_its_operands() -> None:
    pto.where(1)  # here


@CASES.add(errors.ArgumentError, "WSP1273", "its parameters: `P.select(condition, then, otherwise=None)`")
def a_choice_of_nothing() -> None:
    P.select()  # here


@CASES.add(errors.ArgumentError, "WSP1273", "`Program.explain` is given 1 argument without a name")
def an_explanation_of_something() -> None:
    PROGRAM.explain("X")  # here


@CASES.add(errors.ArgumentError, "WSP1273", "did you mean `against`?")
def a_report_with_a_typing_error() -> None:
    PROGRAM.report("r.html", agains="t.pftrace")  # here


@CASES.add(errors.ArgumentError, "WSP1273", "`DispatchPolicy.affinity` is not given `key`")
def an_affinity_of_nothing() -> None:
    DispatchPolicy.affinity()  # here


@CASES.add(errors.ScheduleError, "WSP1208", "`Deps.hybrid(…)`")
def dependences_by_a_mode() -> None:
    Deps("infer")  # here


@CASES.add(errors.ScheduleError, "WSP1208", "give an int from 1 to 1048576")
def a_batched_timing_without_its_number() -> None:
    TimingPolicy("batched")  # here


@CASES.add(errors.ScheduleError, "WSP1208", "write `TimingPolicy.immediate()`")
def an_immediate_timing_with_a_number() -> None:
    TimingPolicy("immediate", 7)  # here


@CASES.add(errors.ScheduleError, "WSP1208", "the number of tasks of `threshold` is `None`")
def a_threshold_without_its_number() -> None:
    StartPolicy("threshold")  # here


@CASES.add(errors.ScheduleError, "WSP1208", "write `DispatchPolicy.affinity(lambda t: t.batch)`")
def an_affinity_without_its_key() -> None:
    DispatchPolicy("affinity")  # here


@CASES.add(errors.ScheduleError, "WSP1208", "a `DispatchPolicy.round_robin` has no `key`, and is given `3`")
def a_round_robin_with_a_key() -> None:
    DispatchPolicy("round_robin", key=3)  # here


@CASES.add(errors.ScheduleError, "WSP1208", "write `DispatchPolicy.static_partition([(0, 10), (10, 20)])`")
def a_static_partition_without_ranges() -> None:
    DispatchPolicy("static_partition")  # here


@CASES.add(errors.ScheduleError, "WSP1208", "`vector` of `by_unit` is `'x'`")
def pools_of_a_word() -> None:
    Pools("by_unit", "x", None)  # here


@CASES.add(errors.ScheduleError, "WSP1208", "write `Pools.shared()`")
def shared_pools_with_counts() -> None:
    Pools("shared", 5, 7)  # here


@CASES.add(errors.ScheduleError, "WSP1208", "write `TracePolicy.cycles(lambda t: 100)`")
def cycles_without_a_function() -> None:
    TracePolicy("cycles")  # here


@CASES.add(errors.ScheduleError, "WSP1208", "`ReadyPolicy.fifo(…)`")
def a_ready_policy_by_a_number() -> None:
    ReadyPolicy(3)  # here


@CASES.add(errors.ArgumentError, "WSP1262", "`In(…)` is no value")
def an_annotation_that_is_called() -> None:
    In(X)  # here


@CASES.add(errors.ArgumentError, "WSP1262", "`x: Scalar`")
def a_scalar_that_is_called() -> None:
    Scalar(3)  # here


@CASES.add(errors.ArgumentError, "WSP1262", "`Constexpr(…)` is no value")
def a_constant_that_is_called() -> None:
    Constexpr(3)  # here


@CASES.add(errors.ArgumentError, "WSP1262", "`Tile(…)` is no value")
def a_tile_that_is_called() -> None:
    Tile(3, 4)  # here


@CASES.add(errors.TraceError, "WSP1017", "`def w(n: DenseDyn):`")
def a_size_of_a_launch_that_has_a_value() -> None:
    DenseDyn(4)  # here


@CASES.add(errors.TraceError, "WSP1018", "leave the length of a table open: `Table[i64, ...]`")
def a_table_with_a_length_that_is_computed() -> None:
    @workload
    def w(n: DenseDyn, starts: Table[i64, "n + 1"]) -> None:  # here
        pass


@CASES.add(errors.TraceError, "WSP1021", "a task of it is `copy[i](x, y)`")
def a_kernel_whose_elements_are_asked_for() -> None:
    list(copy)  # here


@CASES.add(errors.TraceError, "WSP1039", "`Dense[n]` is iterated by Python")
def a_class_of_axes_whose_elements_are_asked_for() -> None:
    list(Dense)  # here


@CASES.add(errors.UnknownAttributeError, "WSP1271", "did you mean `num_tasks`?")
def a_figure_with_a_typing_error() -> None:
    PROGRAM.execute(X=rows(4), Y=rows(4)).num_task  # here


@CASES.add(errors.UnknownAttributeError, "WSP1271", "did you mean `edges`?")
def a_part_of_a_graph_with_a_typing_error() -> None:
    PROGRAM.graph(X=rows(4), Y=rows(4)).edge  # here


@CASES.add(errors.UnknownAttributeError, "WSP1271", "did you mean `rebind`?")
def a_method_of_a_bound_program_with_a_typing_error() -> None:
    PROGRAM.bind(X=rows(4), Y=rows(4)).rebnd(X=rows(4))  # here


@CASES.add(errors.TraceError, "WSP1017", "X = tensor(('a', 64), f32)")
def a_tensor_annotation_that_is_called() -> None:
    Tensor[f32, "a", 64](3)  # here


@CASES.add(errors.TraceError, "WSP1017", "X = tensor(('a',), f16)")
def a_tensor_annotation_of_one_extent_that_is_called() -> None:
    Tensor[f16, "a"]()  # here


@CASES.add(errors.TraceError, "WSP1017", "tok = ragged('b', lengths)")
def a_ragged_annotation_that_is_called() -> None:
    Ragged[i64, "b"]([1, 2])  # here


@CASES.add(errors.TraceError, "WSP1017", "route = sparse('b', indptr, indices)")
def a_sparse_annotation_that_is_called() -> None:
    Sparse[i64, "b"]([0], [])  # here


@CASES.add(errors.TraceError, "WSP1017", "lens = table([3, 1])")
def a_table_annotation_that_is_called() -> None:
    Table[i64, "n"]([1, 2])  # here


@CASES.add(errors.ArgumentError, "WSP1262", "def k(x: In[f32])")
def a_view_annotation_that_is_called() -> None:
    In[f32](rows(3))  # here


@CASES.add(errors.ArgumentError, "WSP1262", "def k(x: Scalar[u32])")
def a_scalar_annotation_that_is_called() -> None:
    Scalar[pto_wsp.u32](3)  # here


@CASES.add(errors.ArgumentError, "WSP1262", "0 or more")
def a_limit_below_0() -> None:
    PROGRAM.execute(X=rows(4), Y=rows(4), timeout=-1)  # here


@CASES.add(errors.ArgumentError, "WSP1262", "0 or more")
def a_limit_below_0_of_a_run_beside_its_caller() -> None:
    PROGRAM.execute_async(X=rows(4), Y=rows(4), timeout=-0.5)  # here


@CASES.add(errors.ArgumentError, "WSP1262", "0 or more")
def a_limit_that_no_float_holds() -> None:
    PROGRAM.execute(X=rows(4), Y=rows(4), timeout=10**400)  # here


@CASES.add(errors.ArgumentError, "WSP1262", "0 or more")
def a_wait_below_0() -> None:
    PROGRAM.execute_async(X=rows(4), Y=rows(4)).wait(-1)  # here


@CASES.add(errors.ArgumentError, "WSP1262", "write `program.execute(X=x, …)`")
def a_program_that_is_called() -> None:
    PROGRAM(X=rows(4), Y=rows(4))  # type: ignore[operator]  # here


@CASES.add(errors.ArgumentError, "WSP1262", "`program.execute(X=x)` gives them")
def figures_of_nothing() -> None:
    Stats()  # here


@pytest.mark.parametrize("case", CASES.all, ids=str)
def test_arguments_without_a_parameter_are_refused_at_their_line(case: Misuse) -> None:
    check(case)


FUNCTIONS = sorted(
    name for name in pto_wsp.__all__ if callable(getattr(pto_wsp, name)) and name not in ("f32", "P")
)
NONSENSE = {"no_parameter_has_this_name": 1}


@pytest.mark.parametrize("name", [*FUNCTIONS, *(f"pto.{name}" for name in pto.__all__)])
def test_no_public_name_takes_any_number_of_arguments_silently(name: str) -> None:
    """Twenty values, and a name that nothing has: a refusal of the package, never one of Python alone."""
    function = getattr(pto, name[4:]) if name.startswith("pto.") else getattr(pto_wsp, name)
    if not callable(function) or inspect.ismodule(function):
        return
    for args, named in (((1,) * 20, {}), ((), NONSENSE)):
        with pytest.raises(errors.WspError) as caught:
            function(*args, **named)
        assert caught.value.code and (caught.value.help or caught.value.notes), str(caught.value)


def test_a_kernel_is_called_with_what_its_function_takes() -> None:
    """What the wrapper of public functions does is no part of a kernel's own errors."""

    @kernel
    def k(x: In, y: pto_wsp.Out) -> None:
        pto.store(y, pto.load(x))

    @pto_wsp.workload
    def w(n: DenseDyn) -> None:
        for i in P(n):
            k[i](X[i], Y[i], Y[i])

    with pytest.raises(errors.WspError) as caught:
        w.compile()
    assert caught.value.code != "WSP1273"
