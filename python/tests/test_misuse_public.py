"""What users do wrong at public functions, one call each: types, shapes, element types, names, options."""

from __future__ import annotations

import numpy as np
import pytest
from misuse import Cases, Misuse, X, check, copies, rows
from pto_wsp import (
    BoundProgram,
    Buffer,
    Channel,
    OnDeviceGenerator,
    P,
    Program,
    Run,
    Slot,
    TaskGraph,
    TaskWindow,
    Workload,
    combine,
    empty,
    errors,
    f32,
    load,
    pto,
    ragged,
    sparse,
    table,
    tensor,
    tile,
    zeros,
)

CASES = Cases([])
PROGRAM = copies.compile()

# ---- Tensors and arrays.


@CASES.add(errors.TraceError, "WSP1028", "tensor(x.shape, f32)")
def an_element_type_in_place_of_a_shape() -> None:
    tensor(f32, (4,))  # here


@CASES.add(errors.TraceError, "WSP1028", "give 0 or more, or the name of a size")
def an_extent_below_0() -> None:
    tensor((-1, 4), f32)  # here


@CASES.add(errors.TraceError, "WSP1028", "it is an int, the name of a size")
def an_extent_with_a_fraction() -> None:
    tensor((1.5, 4), f32)  # here


@CASES.add(errors.TraceError, "WSP1028", "merge dimensions that tasks do not index")
def twenty_dimensions() -> None:
    tensor((1,) * 20, f32)  # here


@CASES.add(errors.ArgumentError, "WSP1265", "give an integer or a tuple of integers")
def a_shape_that_is_text() -> None:
    empty("4", f32)  # here


@CASES.add(errors.ArgumentError, "WSP1265", "give an integer or a tuple of integers")
def a_shape_of_names() -> None:
    zeros(("n",), f32)  # here


@CASES.add(errors.ArgumentError, "WSP1265", "give sizes from 0")
def an_array_below_0() -> None:
    empty((-4,), f32)  # here


@CASES.add(errors.ArgumentError, "WSP1251", "give one of f16, bf16")
def an_array_of_a_type_that_is_none() -> None:
    zeros((4,), "f33")  # here


@CASES.add(errors.ArgumentError, "WSP1265", "give smaller sizes")
def more_bytes_than_can_be_addressed() -> None:
    empty((2**40, 2**40), f32)  # here


@CASES.add(errors.UnknownAttributeError, "WSP1271", "all else is done in a kernel")
def the_shape_of_a_tensor_changed() -> None:
    X.reshape(3, 64)  # here


@CASES.add(errors.UnknownAttributeError, "WSP1271", "all else is done in a kernel")
def the_transpose_of_a_tensor() -> None:
    X.T  # here


@CASES.add(errors.UnknownAttributeError, "WSP1271", "it has `shape`, `ndim` and `dtype`")
def a_misspelt_fact_of_a_tensor() -> None:
    X.shap  # here


@CASES.add(errors.TraceError, "WSP1028", "give 0 or more, or the name of a size")
def a_buffer_below_0() -> None:
    Buffer((-1,), f32)  # here


# ---- Axes, tables and loops.


@CASES.add(errors.TraceError, "WSP1030", 'ragged("batch", lengths)')
def a_ragged_axis_without_its_outer_axis() -> None:
    ragged([3, 2, 1])  # here


@CASES.add(errors.TraceError, "WSP1030", "a table holds integers")
def a_ragged_axis_of_halves() -> None:
    ragged("b", [0.5, 1.5])  # here


@CASES.add(errors.TraceError, "WSP1030", "lengths and row starts are at least 0")
def a_length_below_0() -> None:
    ragged("b", [3, -2])  # here


@CASES.add(errors.TraceError, "WSP1030", "sparse(outer, indptr, indices)")
def a_sparse_axis_of_one_list() -> None:
    sparse([0, 1])  # here


@CASES.add(errors.TraceError, "WSP1030", "a table holds integers")
def a_table_of_two_dimensions() -> None:
    table(np.zeros((2, 2), np.int64))  # here


@CASES.add(errors.TraceError, "WSP1030", "a table holds integers")
def a_table_of_text() -> None:
    table("abc")  # here


@CASES.add(errors.TraceError, "WSP1030", "leave `length` out")
def a_table_whose_length_contradicts_it() -> None:
    table([1, 2], length=3)  # here


@CASES.add(errors.TraceError, "WSP1027", "tiles have at least 1 index")
def a_tile_of_no_index() -> None:
    tile(0, 0)  # here


@CASES.add(errors.TraceError, "WSP1004", "workloads compute with integers")
def a_tile_of_a_fraction() -> None:
    tile(0, 1.5)  # here


@CASES.add(errors.TraceError, "WSP1004", "workloads compute with integers")
def a_slot_that_begins_with_text() -> None:
    Slot("a")  # here


@CASES.add(errors.TraceError, "WSP1004", "P.select(condition, a, b)")
def a_choice_of_one_value() -> None:
    P.select(1, 2)  # here


@CASES.add(errors.UnknownAttributeError, "WSP1271", "did you mean `select`?")
def a_loop_with_a_typing_error() -> None:
    P.selct(1, 2, 3)  # here


@CASES.add(errors.TraceError, "WSP1044", "divide by an expression that is not 0")
def a_division_rounded_up_by_0() -> None:
    P.ceildiv(4, 0)  # here


@CASES.add(errors.TraceError, "WSP1004", "workloads compute with integers")
def the_least_of_text() -> None:
    P.min(4, "a")  # here


@CASES.add(errors.TraceError, "WSP1016", "write `@workload` above a `def`")
def a_workload_of_a_number() -> None:
    Workload(3)  # here


@CASES.add(errors.TraceError, "WSP1031", "combine(first, second)")
def a_combination_with_a_number() -> None:
    combine(copies, 3)  # here


@CASES.add(errors.TraceError, "WSP1038", "Channel(…, depth=2)")
def a_channel_without_a_depth() -> None:
    Channel("tiles")  # here


# ---- Compilations and schedules.


@CASES.add(errors.CompileError, "WSP1221", "give an int from 0 to 1024")
def half_a_thread() -> None:
    copies.compile(num_threads=2.5)  # here


@CASES.add(errors.CompileError, "WSP1221", "give an int from 0 to 1024")
def a_thread_that_is_a_truth_value() -> None:
    copies.compile(num_threads=True)  # here


@CASES.add(errors.CompileError, "WSP1221", "give an int from 0 to 18446744073709551615")
def a_seed_that_is_text() -> None:
    copies.compile(seed="a")  # here


@CASES.add(errors.CompileError, "WSP1221", "give the path of a folder")
def a_cache_that_is_a_number() -> None:
    copies.compile(cache=3)  # here


@CASES.add(errors.CompileError, "WSP1221", "give an int from 0 to 3")
def a_level_that_is_none() -> None:
    copies.compile(optimization_level=9)  # here


@CASES.add(errors.CompileError, "WSP1221", 'give `"host"` or `"bytecode"`')
def a_way_to_expand_that_is_none() -> None:
    copies.compile(expand="device")  # here


@CASES.add(errors.CompileError, "WSP1221", "give the path of a trace")
def a_trace_to_replay_that_is_missing() -> None:
    copies.compile(replay="none.pftrace")  # here


@CASES.add(errors.ScheduleError, "WSP1208", "give an int from 1 to 1048576")
def a_window_that_is_text() -> None:
    TaskWindow("8")  # here


@CASES.add(errors.ScheduleError, "WSP1208", "give an int from 1 to 65536")
def half_a_stream() -> None:
    copies.streams(1.5)  # here


@CASES.add(errors.ScheduleError, "WSP1209", "DispatchPolicy.round_robin()")
def a_window_as_a_dispatch() -> None:
    copies.dispatch(TaskWindow(8))  # here


@CASES.add(errors.ScheduleError, "WSP1208", "write `grid=(4, 2)`")
def a_grid_that_is_a_number() -> None:
    copies.spatial_map(3)  # here


@CASES.add(errors.ScheduleError, "WSP1208", "give an int from 1 to 1024")
def a_grid_with_a_side_of_0() -> None:
    copies.spatial_map((0, 2))  # here


@CASES.add(errors.ScheduleError, "WSP1209", "TimingPolicy.immediate()")
def a_timing_that_is_text() -> None:
    copies.timing("fast")  # here


# ---- Runs and what they give.


@CASES.add(errors.ArgumentError, "WSP1261", "leave `n` out, which follows from `X`, or give `n=4`")
def a_size_beside_an_array_of_another() -> None:
    PROGRAM.execute(X=rows(4), Y=rows(4), n=5)  # here


@CASES.add(errors.ArgumentError, "WSP1261", "leave `n` out, which follows from `X`, or give `n=4`")
def a_size_below_0_beside_arrays() -> None:
    PROGRAM.execute(X=rows(4), Y=rows(4), n=-1)  # here


@CASES.add(errors.ArgumentError, "WSP1262", "give an integer: `n=128`")
def a_size_with_a_fraction() -> None:
    PROGRAM.execute(X=rows(4), Y=rows(4), n=4.0)  # here


@CASES.add(errors.ArgumentError, "WSP1251", "X.astype(np.float32)")
def complex_numbers() -> None:
    PROGRAM.execute(X=rows(4).astype(np.complex64), Y=rows(4))  # here


@CASES.add(errors.ArgumentError, "WSP1253", "give it the shape [n, 64]")
def a_number_for_an_array() -> None:
    PROGRAM.execute(X=np.float32(3), Y=rows(4))  # here


@CASES.add(errors.ArgumentError, "WSP1258", "X.filled(0)")
def an_array_with_a_mask() -> None:
    PROGRAM.execute(X=np.ma.array(rows(4), mask=True), Y=rows(4))  # here


@CASES.add(errors.ArgumentError, "WSP1250", "X = np.load(path)")
def the_path_of_an_array() -> None:
    PROGRAM.execute(X="x.npy", Y=rows(4))  # here


@CASES.add(errors.ArgumentError, "WSP1259", "give it by name: `X=…`")
def an_array_that_is_none() -> None:
    PROGRAM.execute(X=None, Y=rows(4))  # here


@CASES.add(errors.ArgumentError, "WSP1259", "give it by name: `Y=…`")
def a_bound_program_with_half_of_its_arrays() -> None:
    PROGRAM.bind(X=rows(4))  # here


@CASES.add(errors.ArgumentError, "WSP1260", "bound.rebind(X=x)")
def an_array_for_a_bound_program() -> None:
    bound = PROGRAM.bind(X=rows(4), Y=rows(4))
    bound(rows(4))  # here


@CASES.add(errors.ArgumentError, "WSP1260", "it takes `X`, `Y`, `n`")
def an_unknown_array_for_a_bound_program() -> None:
    bound = PROGRAM.bind(X=rows(4), Y=rows(4))
    bound.rebind(Z=rows(4))  # here


@CASES.add(errors.ArgumentError, "WSP1262", "program.bind(X=x)")
def a_bound_program_that_nothing_was_bound_to() -> None:
    BoundProgram()  # here


@CASES.add(errors.ArgumentError, "WSP1262", "program.execute_async(X=x)")
def a_run_that_nothing_started() -> None:
    Run()  # here


@CASES.add(errors.ArgumentError, "WSP1259", "the array `X`, whose shape tells")
def a_graph_without_its_size() -> None:
    PROGRAM.graph()  # here


@CASES.add(errors.ArgumentError, "WSP1262", "give the number of a task, from 0 to 1")
def a_task_that_the_graph_does_not_have() -> None:
    PROGRAM.graph(n=32).name_of(99)  # here


@CASES.add(errors.ArgumentError, "WSP1262", "lambda task: 1.0")
def a_cost_that_is_a_number() -> None:
    PROGRAM.graph(n=32).critical_path(3)  # here


@CASES.add(errors.CompileError, "WSP1224", "enable_profiling=True")
def a_report_before_a_run() -> None:
    copies.compile().report("report.html")  # here


@CASES.add(errors.ArgumentError, "WSP1262", 'program.report("report.html")')
def a_report_at_a_number() -> None:
    PROGRAM.report(3)  # here


# ---- Files, bytes and task graphs.


@CASES.add(errors.ArgumentError, "WSP1262", 'load("decode.pto")')
def a_file_that_is_a_number() -> None:
    load(3)  # here


@CASES.add(errors.ArgumentError, "WSP0500", "give the path of a file that exists")
def a_file_that_is_missing() -> None:
    load("/nonexistent/decode.pto")  # here


@CASES.add(errors.FormatError, "WSP1230", "program.to_bytes()")
def a_program_of_text() -> None:
    Program.from_bytes("abc")  # here


@CASES.add(errors.ArgumentError, "WSP1262", "TaskGraph.from_file(path)")
def a_task_graph_of_a_number() -> None:
    TaskGraph(3)  # here


@CASES.add(errors.FormatError, "WSP1431", "graph.to_bytes()")
def a_task_graph_of_other_bytes() -> None:
    TaskGraph.from_bytes(b"abc")  # here


@CASES.add(errors.ArgumentError, "WSP1262", "OnDeviceGenerator(workload)")
def a_generator_of_a_number() -> None:
    OnDeviceGenerator(3)  # here


@CASES.add(errors.KernelError, "WSP1133", "call it in a function with `@kernel`")
def a_coordinate_outside_of_a_kernel() -> None:
    pto.coord(0)  # here


@pytest.mark.parametrize("case", CASES.all, ids=str)
def test_mistake_at_a_public_function_is_told(case: Misuse) -> None:
    check(case)


def test_there_are_enough_cases() -> None:
    assert len(CASES.all) >= 60
