"""Bytecode of workloads, and what each AICPU gets beside it."""

from __future__ import annotations

import struct

import pytest
from declared import Declared
from pto_wsp import DispatchPolicy, OnDeviceGenerator, P, errors, f32, tensor, workload

HEADER = struct.Struct("<6I")
MAGIC = 0x50544F57
copy = Declared("copy", "inout x")
X = tensor(("batch", "heads"), f32)


@workload
def rows(batch, heads):
    for b, h in P(batch, heads):
        copy[b, h](X[b, h])


def test_the_program_does_not_depend_on_sizes_and_configurations_differ_in_the_id() -> None:
    generator = OnDeviceGenerator(rows.dispatch(DispatchPolicy.affinity(lambda t: t.batch)))
    program = generator.compile()
    magic, version, words, axes, kernels, tensors = HEADER.unpack_from(program)
    assert (magic, version, axes, kernels, tensors) == (MAGIC, 1, 2, 1, 1)
    assert len(program) < 600 and words < 20
    configs = generator.compile_dispatch(3)
    assert [len(config) for config in configs] == [52, 52, 52]
    assert [struct.unpack_from("<HHB", config) for config in configs] == [(3, 0, 1), (3, 1, 1), (3, 2, 1)]
    assert len({config[4:] for config in configs}) == 1


def test_a_compiled_program_gives_the_same() -> None:
    scheduled = rows.dispatch(DispatchPolicy.static_partition([(0, 4), (4, 12)]))
    first, second = OnDeviceGenerator(scheduled), OnDeviceGenerator(scheduled.compile())
    assert first.compile() == second.compile()
    assert first.compile_dispatch(2) == second.compile_dispatch(2)
    assert [struct.unpack_from("<4xB3xII", config) for config in first.compile_dispatch(2)] == [
        (3, 0, 4),
        (3, 4, 12),
    ]
    with pytest.raises(errors.CompileError, match="needs as many AICPUs"):
        first.compile_dispatch(1)


@pytest.mark.parametrize("aicpus", [0, -1, 1025, True, "four", 1.5])
def test_numbers_of_aicpus_that_cannot_be_are_refused(aicpus: object) -> None:
    with pytest.raises(errors.ArgumentError, match="from 1 to 1024"):
        OnDeviceGenerator(rows).compile_dispatch(aicpus)  # type: ignore[arg-type]


def test_what_is_no_workload_is_refused() -> None:
    with pytest.raises(errors.ArgumentError, match="takes a workload, not"):
        OnDeviceGenerator("rows")  # type: ignore[arg-type]
