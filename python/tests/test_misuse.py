"""What users do wrong in kernels, workloads and schedules, and that each mistake is told apart: by class,
code, the user's own line, and what to do instead.
"""

from __future__ import annotations

import itertools
import random

import pytest
from misuse import Cases, Misuse, X, Y, check, copies, copy, rows, run_rows
from pto_wsp import (
    DispatchPolicy,
    In,
    Out,
    P,
    Ragged,
    Scalar,
    Sparse,
    Table,
    TaskWindow,
    Tensor,
    Tile,
    TimingPolicy,
    errors,
    f16,
    i64,
    kernel,
    pto,
    python_kernel,
    tensor,
    tile,
    workload,
)

CASES = Cases([])


# ---- Annotations that make nothing, and values that are no annotations.


@CASES.add(errors.TraceError, "WSP1017", 'X = tensor(("rows", 64), f32)')
def tensor_by_its_annotation() -> None:
    Tensor(("n", 64), f16)  # here


@CASES.add(errors.TraceError, "WSP1017", "lens = table([3, 1])")
def table_by_its_annotation() -> None:
    Table([3, 1])  # here


@CASES.add(errors.TraceError, "WSP1017", "tok = ragged(outer, lengths)")
def ragged_axis_by_its_annotation() -> None:
    Ragged("n", [3, 1])  # here


@CASES.add(errors.TraceError, "WSP1017", "route = sparse(outer, indptr, indices)")
def sparse_axis_by_its_annotation() -> None:
    Sparse("n", [0, 1], [1])  # here


@CASES.add(errors.TraceError, "WSP1017", 'write `Ragged[i64, "n"]`')
def ragged_axis_without_its_type() -> None:
    Ragged["n"]  # here


@CASES.add(errors.TraceError, "WSP1017", 'write `Sparse[i64, "n"]`')
def sparse_axis_without_its_type() -> None:
    Sparse["n"]  # here


@CASES.add(errors.TraceError, "WSP1017", 'write `Table[i64, "n"]`')
def table_without_its_type() -> None:
    Table["n"]  # here


@CASES.add(errors.TraceError, "WSP1017", "`Table[i64, ...]` for any number")
def table_without_its_length() -> None:
    Table[i64]  # here


@CASES.add(errors.TraceError, "WSP1017", "`Table[f16, 'n']` does not say `i64` first")
def table_of_real_numbers() -> None:
    Table[f16, "n"]  # here


@CASES.add(errors.TraceError, "WSP1017", "lens: Table[i64, ...]")
def table_that_says_nothing() -> None:
    @workload
    def w(n, lens: Table):  # here
        copy(X[0:16], Y[0:16])


@CASES.add(errors.TraceError, "WSP1017", "kernels alone")
def tensor_of_any_extent() -> None:
    @workload
    def w(n, x: Tensor[f16, "n", None]):  # here
        copy(X[0:16], Y[0:16])


@CASES.add(errors.ArgumentError, "WSP1262", "write `In[Tensor[f16, 64, None]]`")
def view_with_extents_beside_its_type() -> None:
    In[f16, 64, None]  # here


@CASES.add(errors.ArgumentError, "WSP1262", "In[Tensor[f32, 64, 128]]")
def tile_with_extents() -> None:
    Tile[64, 128, f16]  # here


@CASES.add(errors.TraceError, "WSP1028", "tensor(x.shape, f32)")
def array_with_another_type() -> None:
    tensor(rows(4), f16)  # here


# ---- Names that are not there.


@CASES.add(errors.UnknownAttributeError, "WSP1271", "copies.compile().execute(…)")
def workload_that_is_executed() -> None:
    copies.execute(X=rows(4), Y=rows(4))  # here


@CASES.add(errors.UnknownAttributeError, "WSP1271", "did you mean `dispatch`?")
def misspelt_method_of_a_workload() -> None:
    copies.dispach(DispatchPolicy.round_robin())  # here


@CASES.add(errors.UnknownAttributeError, "WSP1271", "did you mean `execute`?")
def misspelt_method_of_a_program() -> None:
    copies.compile().exectue(X=rows(4))  # here


@CASES.add(errors.UnknownAttributeError, "WSP1271", "`program.execute(X=x, …)` runs it")
def program_that_is_run() -> None:
    copies.compile().run(X=rows(4))  # here


@CASES.add(errors.UnknownAttributeError, "WSP1271", "it has `")
def method_that_is_like_none() -> None:
    copies.zzz()  # here


@CASES.add(errors.TraceError, "WSP1015", "copies.compile().execute(X=x)")
def arrays_of_a_workload() -> None:
    copies(X=rows(4))  # here


@CASES.add(errors.TraceError, "WSP1016", "copies.compile().execute(X=x)")
def array_of_a_workload_by_position() -> None:
    copies(rows(4))  # here


@CASES.add(errors.TraceError, "WSP1050", "def w(count: DenseDyn)")
def loop_over_what_is_no_parameter() -> None:
    @workload
    def w():
        for i in P(count):  # noqa: F821 # here
            copy[i](X[tile(i, 16)], Y[tile(i, 16)])

    w.compile()


@CASES.add(errors.TraceError, "WSP1050", "did you mean `batches`?")
def misspelt_parameter() -> None:
    @workload
    def w(batches):
        for i in P(batchs):  # noqa: F821 # here
            copy[i](X[tile(i, 16)], Y[tile(i, 16)])

    w.compile()


@CASES.add(errors.TraceError, "WSP1016", "`copy` is a kernel already")
def workload_of_a_kernel() -> None:
    workload(copy)  # here


@CASES.add(errors.KernelError, "WSP0611", "pto.zeros(x.shape)")
def accumulator_that_is_larger_than_the_last_tile() -> None:
    @kernel
    def k(x: In, y: Out):
        total = pto.zeros((16, 64))
        for _ in range(2):
            total = total + pto.load(x)  # here
        pto.store(y, total)

    run_rows(k)


# ---- Kernels: annotations, names, types, syntax.


@CASES.add(errors.KernelError, "WSP1102", "In")
def kernel_parameter_without_annotation() -> None:
    @kernel
    def k(x: In, y):  # here
        pto.store(y, pto.load(x))


@CASES.add(errors.KernelError, "WSP1103", "In")
def kernel_parameter_with_a_python_type() -> None:
    @kernel
    def k(x: int, y: Out):  # here
        pto.store(y, pto.load(x))


@CASES.add(errors.KernelError, "WSP1110", "rowsum")
def unknown_operation() -> None:
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.rowsun(pto.load(x)))  # here

    run_rows(k)


@CASES.add(errors.KernelError, "WSP1112", "")
def print_in_a_kernel() -> None:
    @kernel
    def k(x: In, y: Out):
        print("rows", x.shape[0])  # here
        pto.store(y, pto.load(x))

    run_rows(k)


@CASES.add(errors.KernelError, "WSP1107", "")
def try_in_a_kernel() -> None:
    @kernel
    def k(x: In, y: Out):
        try:  # here
            pto.store(y, pto.load(x))
        except ValueError:
            pass

    run_rows(k)


@CASES.add(errors.KernelError, "WSP1107", "one name per value")
def starred_name_in_a_kernel() -> None:
    @kernel
    def k(x: In, y: Out):
        t, *_rest = pto.load(x), 1  # here
        pto.store(y, t)

    run_rows(k)


@CASES.add(errors.KernelError, "WSP1108", "for")
def comprehension_in_a_kernel() -> None:
    @kernel
    def k(x: In, y: Out):
        tiles = [pto.load(x) for _ in range(2)]  # here
        pto.store(y, tiles[0])

    run_rows(k)


@CASES.add(errors.KernelError, "WSP1109", "")
def undefined_name_in_a_kernel() -> None:
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.load(x) * gain_of_nothing)  # here

    run_rows(k)


@CASES.add(errors.KernelError, "WSP1117", "")
def tiles_of_different_shapes() -> None:
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        pto.store(y, t + pto.load(x[:, 0:32]))  # here

    run_rows(k)


@CASES.add(errors.KernelError, "WSP1117", "")
def product_of_shapes_that_do_not_meet() -> None:
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        pto.store(y, pto.matmul(t, t))  # here

    run_rows(k)


@CASES.add(errors.KernelError, "WSP1115", "")
def variable_that_changes_its_type() -> None:
    @kernel
    def k(x: In, y: Out):
        t = pto.load(x)
        pto.store(y, t)
        t = 3  # here

    run_rows(k)


@CASES.add(errors.KernelError, "WSP1119", "shape=")
def load_without_a_known_size() -> None:
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.load(x))  # here

    @workload
    def w(n):
        k(X, Y)

    w.compile()


@CASES.add(errors.KernelError, "WSP1127", "")
def helper_that_calls_itself() -> None:
    def again(t):
        return again(t)  # here

    @kernel
    def k(x: In, y: Out):
        pto.store(y, again(pto.load(x)))

    run_rows(k)


@CASES.add(errors.KernelError, "WSP1120", "")
def store_to_an_input() -> None:
    @kernel
    def k(x: In, y: Out):
        pto.store(x, pto.load(x))  # here
        pto.store(y, pto.load(x))

    run_rows(k)


@CASES.add(errors.KernelError, "WSP1131", "f32")
def annotated_type_and_another_given() -> None:
    @kernel
    def k(x: In[f16], y: Out):
        pto.store(y, pto.load(x))

    @workload
    def w(n):
        for i in P(n // 16):
            k[i](X[tile(i, 16)], Y[tile(i, 16)])  # here

    w.compile()


# ---- Kernels that fail while they run.


@CASES.add(errors.KernelError, "WSP0610", "task")
def store_past_the_end() -> None:
    @kernel
    def k(x: In, y: Out):
        pto.store(y[8:], pto.load(x))  # here

    run_rows(k)


@CASES.add(errors.KernelError, "WSP0601", "")
def division_by_zero_of_integers() -> None:
    @kernel
    def k(x: In, y: Out, n: Scalar):
        pto.store(y, pto.load(x) * (64 // n))  # here

    @workload
    def w(n):
        for i in P(n // 16):
            k[i](X[tile(i, 16)], Y[tile(i, 16)], n=i)

    w.compile().execute(X=rows(32), Y=rows(32))


@CASES.add(errors.KernelError, "WSP0856", "")
def python_kernel_that_raises() -> None:
    @python_kernel
    def k(x: In, y: Out):
        raise ValueError("no such row")  # here

    run_rows(k)


@CASES.add(errors.KernelError, "WSP0850", "")
def kernel_that_is_only_declared() -> None:
    @kernel
    def k(x: In, y: Out):  # here
        """Only in graphs."""

    run_rows(k)


# ---- Workloads: calls.


@CASES.add(errors.TraceError, "WSP1020", "")
def kernel_called_outside_a_workload() -> None:
    copy(X, Y)  # here


@CASES.add(errors.TraceError, "WSP1021", "y")
def missing_argument_of_a_kernel() -> None:
    @workload
    def w(n):
        copy(X)  # here

    w.compile()


@CASES.add(errors.TraceError, "WSP1021", "")
def surplus_argument_of_a_kernel() -> None:
    @workload
    def w(n):
        copy(X, Y, n)  # here

    w.compile()


@CASES.add(errors.TraceError, "WSP1021", "")
def unknown_keyword_of_a_kernel() -> None:
    @workload
    def w(n):
        copy(x=X, z=Y)  # here

    w.compile()


@CASES.add(errors.TraceError, "WSP1022", "")
def integer_for_a_tensor() -> None:
    @workload
    def w(n):
        copy(X, n)  # here

    w.compile()


@CASES.add(errors.TraceError, "WSP1023", "")
def too_many_indices() -> None:
    @workload
    def w(n):
        for i in P(n):
            copy(X[i, 0, 0], Y[i])  # here

    w.compile()


@CASES.add(errors.TraceError, "WSP1024", "")
def slice_with_a_step() -> None:
    @workload
    def w(n):
        copy(X[0:n:2], Y)  # here

    w.compile()


@CASES.add(errors.TraceError, "WSP1004", "")
def true_division_of_sizes() -> None:
    @workload
    def w(n):
        for i in P(n / 16):  # here
            copy(X[i], Y[i])

    w.compile()


@CASES.add(errors.TraceError, "WSP1015", "")
def missing_argument_of_a_workload() -> None:
    @workload
    def inner(i, j):
        copy(X[i], Y[j])

    @workload
    def w(n):
        for i in P(n):
            inner(i)  # here

    w.compile()


@CASES.add(errors.TraceError, "WSP1015", "")
def surplus_argument_of_a_workload() -> None:
    copies(4, 5)  # here


# ---- Workloads: control.


@CASES.add(errors.TraceError, "WSP1002", "P.when")
def if_on_a_symbol() -> None:
    @workload
    def w(n):
        for i in P(n):
            if i > 2:  # here
                copy(X[i], Y[i])

    w.compile()


@CASES.add(errors.TraceError, "WSP1002", "&")
def and_of_symbols() -> None:
    @workload
    def w(n):
        for i in P(n):
            with P.when(i > 2 and i < 5):  # here
                copy(X[i], Y[i])

    w.compile()


@CASES.add(errors.TraceError, "WSP1003", "P(")
def range_over_a_symbol() -> None:
    @workload
    def w(n):
        for i in range(n):  # here
            copy(X[i], Y[i])

    w.compile()


@CASES.add(errors.TraceError, "WSP1005", "")
def break_in_a_loop_of_tasks() -> None:
    @workload
    def w(n):
        for i in P(n):
            copy(X[i], Y[i])
            break  # here

    w.compile()


@CASES.add(errors.TraceError, "WSP1006", "")
def loop_carried_variable() -> None:
    @workload
    def w(n):
        row = 0
        for _ in P(n):
            copy(X[row], Y[row])
            row = row + 1  # here

    w.compile()


@CASES.add(errors.TraceError, "WSP1007", "")
def loop_variable_after_its_loop() -> None:
    @workload
    def w(n):
        for i in P(n):
            copy(X[i], Y[i])
        copy(X[i], Y[i])  # here

    w.compile()


@CASES.add(errors.TraceError, "WSP1009", "P.when")
def otherwise_without_when() -> None:
    @workload
    def w(n):
        with P.otherwise():  # here
            copy(X, Y)

    w.compile()


@CASES.add(errors.TraceError, "WSP1032", "")
def workload_that_calls_itself() -> None:
    @workload
    def w(n):
        w(n)  # here

    w.compile()


@CASES.add(errors.TraceError, "WSP1012", "")
def ragged_axis_without_its_outer_loop() -> None:
    @workload
    def w(batch, token: Ragged[i64, "batch"]):
        for t in P(token):  # here
            copy(X[t], Y[t])

    w.compile()


# ---- Schedules.


@CASES.add(errors.ScheduleError, "WSP1201", "lambda t: t.batch")
def key_from_a_dictionary() -> None:
    owners = {0: 1, 1: 0}
    copies.stream_by(lambda t: owners[t.i]).streams(2).compile()  # here


@CASES.add(errors.ScheduleError, "WSP1201", "lambda t: t.batch")
def key_from_text() -> None:
    copies.stream_by(lambda t: len(str(t.i))).streams(2).compile()  # here


@CASES.add(errors.ScheduleError, "WSP1201", "lambda t: t.batch")
def key_of_random_numbers() -> None:
    copies.stream_by(lambda t: random.randrange(4)).streams(2).compile()  # here


@CASES.add(errors.ScheduleError, "WSP1201", "lambda t: t.batch")
def key_of_random_numbers_by_a_method() -> None:
    class Keys:
        def __init__(self) -> None:
            self.numbers = random.Random(1)

        def key(self, t):  # here
            return self.numbers.randrange(4)

    copies.stream_by(Keys().key).streams(2).compile()


@CASES.add(errors.ScheduleError, "WSP1201", "lambda t: t.batch")
def key_that_counts() -> None:
    count = itertools.count()
    copies.stream_by(lambda t: t.i + next(count)).streams(2).compile()  # here


@CASES.add(errors.ScheduleError, "WSP1203", "i")
def key_of_an_unknown_axis() -> None:
    copies.streams(2).stream_by(lambda t: t.head).compile()  # here


@CASES.add(errors.ScheduleError, "WSP1200", "")
def two_dispatches() -> None:
    copies.dispatch(DispatchPolicy.round_robin()).dispatch(DispatchPolicy.work_steal())  # here


@CASES.add(errors.ScheduleError, "WSP1209", "")
def dispatch_by_a_string() -> None:
    copies.dispatch("round_robin")  # here


@CASES.add(errors.ScheduleError, "WSP1211", "one policy more")
def threshold_with_too_few_policies() -> None:
    policies = [DispatchPolicy.round_robin(), DispatchPolicy.work_steal()]
    copies.dispatch_threshold(lambda t: t.i, [16, 64], policies)  # here


@CASES.add(errors.ScheduleError, "WSP1211", "")
def thresholds_that_fall() -> None:
    policies = [DispatchPolicy.round_robin()] * 3
    copies.dispatch_threshold(lambda t: t.i, [64, 16], policies).compile()  # here


@CASES.add(errors.ScheduleError, "WSP1208", "1")
def window_of_no_tasks() -> None:
    copies.task_graph(window=TaskWindow(0)).compile()  # here


@CASES.add(errors.ScheduleError, "WSP1208", "1")
def no_streams() -> None:
    copies.streams(0).compile()  # here


@CASES.add(errors.ScheduleError, "WSP0786", "priority")
def priority_without_its_ready_policy() -> None:
    copies.priority(lambda t: t.i).compile()  # here


@CASES.add(errors.ScheduleError, "WSP0786", "spatial_map")
def layout_without_a_grid() -> None:
    copies.layout("X", ["y", "replicate"]).compile()  # here


@CASES.add(errors.ScheduleError, "WSP0415", "pipeline_depth")
def rate_on_a_target_without_a_clock() -> None:
    copies.timing(TimingPolicy.rate_limit(4)).compile()  # here


@pytest.mark.parametrize("case", CASES.all, ids=str)
def test_mistake_is_told_by_class_code_line_and_help(case: Misuse) -> None:
    check(case)


def test_there_are_enough_cases() -> None:
    assert len(CASES.all) >= 40


def test_cause_of_a_failed_python_kernel_is_its_exception() -> None:
    with pytest.raises(errors.KernelError, match="no such row") as caught:
        python_kernel_that_raises()
    assert isinstance(caught.value.__cause__, ValueError)
    assert "kernel `k` failed" in caught.value.message
    assert any("indices [0]" in note for note in caught.value.notes)
