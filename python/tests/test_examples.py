"""The examples against their f64 references, in order on one thread and in parallel on four, at many sizes.

Tolerances are of the worst row, relative to the largest magnitude of that row. They count roundings of f32,
each at most U = 2**-24 relative to its result, as a random walk: n of them add up to about sqrt(n) · U, and
the largest of many such errors to twice that. A sum of k terms of random sign counts k, one of positive
terms, which is large, k / 3; a sum by blocks counts its longest block and its blocks; any other operation
counts 1, an exponential a few. Nothing else is granted.
"""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"
sys.path.insert(0, str(EXAMPLES))

U = 2.0**-24


def roundings(*counts: float) -> float:
    """What so many roundings, counted as above, may add up to."""
    return 2.0 * U * math.sqrt(sum(counts))


@dataclass(frozen=True)
class Case:
    """An example at one size: arguments of `build`, `make` and `error`, and the error that is allowed."""

    name: str
    allowed: float
    make: dict[str, Any]
    build: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        sizes = {**self.build, **self.make}
        return (
            self.name
            + "-"
            + ",".join(f"{k}={len(v) if isinstance(v, list) else v}" for k, v in sizes.items())
        )


def rmsnorm(rows: int, columns: int) -> Case:
    """A sum of squares, of which the root halves the error; then division, sum, root and two products."""
    squares = min(columns, 256) / 3 + columns / 256
    return Case("rmsnorm", roundings(squares / 4, 6), {"rows": rows, "columns": columns})


def flash_attention(
    queries: int, keys: int, causal: bool, group: int = 4, head_dim: int = 64, batch: int = 1
) -> Case:
    """Scores, of magnitude 4 and more, turn their roundings into relative ones of the powers; then two sums
    over keys.
    """
    heads = 2 * group
    sizes = {
        "batch": batch,
        "heads": heads,
        "group": group,
        "queries": queries,
        "keys": keys,
        "head_dim": head_dim,
    }
    return Case(
        "flash_attention",
        roundings(2 * head_dim, keys, keys / 3, 8),
        sizes,
        {"group": group, "head_dim": head_dim, "causal": causal},
        {"causal": causal},
    )


def decode(lengths: list[int], **sizes: int) -> Case:
    """As attention over one chunk; a merge counts 4 per chunk of a request."""
    longest = max(lengths, default=0)
    build = {name: sizes[name] for name in ("group", "head_dim") if name in sizes}
    chunk = min(longest, 512)
    allowed = roundings(2 * sizes.get("head_dim", 64), chunk, chunk / 3, 4 * longest / 512, 8)
    return Case("decode", allowed, {"lengths": lengths, **sizes}, build)


def llama_layer(seq: int) -> Case:
    """The last product, over 704 columns, and one over 256 before it; what comes earlier is a small part of
    the result.
    """
    return Case("llama_layer", roundings(704, 256, 32), {"seq": seq})


def moe(tokens: int, experts: int, **more: int) -> Case:
    """One product over `ffn` after two over `hidden`; the sum over experts is short."""
    return Case("moe", roundings(512, 256, 256, 16), {"tokens": tokens, "experts": experts, **more})


def topk_indexer(lengths: list[int]) -> Case:
    """A product over 64 columns, and a weighted sum over 8 heads of what is left of it."""
    return Case("topk_indexer", roundings(64, 8, 4), {"lengths": lengths})


def online_softmax(rows: int, columns: int) -> Case:
    """A sum of powers; every tile of columns scales it once more."""
    powers = min(columns, 256) / 3 + 3 * columns / 256
    return Case("online_softmax", roundings(powers, 8), {"rows": rows, "columns": columns})


def batched_gemm(batch: int, m: int, n: int, k: int) -> Case:
    """One sum over `k`."""
    return Case("batched_gemm", roundings(k, 1), {"batch": batch, "m": m, "n": n, "k": k})


def pipeline(rows: int) -> Case:
    """Ten operations, with an exponential among them."""
    return Case("pipeline", roundings(12), {"rows": rows})


def pipelined_gemm(m: int, n: int, k: int) -> Case:
    """One sum over `k`."""
    return Case("pipelined_gemm", roundings(k, 1), {"m": m, "n": n, "k": k})


def pipelined_softmax(rows: int) -> Case:
    """A difference, an exponential of it, a sum of powers, and the quotient."""
    return Case("pipelined_softmax", roundings(256 / 3, 12), {"rows": rows})


def pipelined_sums(columns: int) -> Case:
    """Sums of positive terms over tiles of 32 columns, and over the tiles."""
    return Case("pipelined_sums", roundings(32 / 3 + columns / 64, 2), {"columns": columns})


DECODE_EDGES = [0, 1, 63, 64, 65, 511, 512, 513, 0, 1024, 1025, 2000]
TIER_EDGES = [0, 1, 63, 64, 65, 2047, 2048, 2049, 8192, 8193]

CASES = [
    *(rmsnorm(r, c) for r, c in [(0, 256), (1, 1), (1, 256), (63, 255), (64, 256), (65, 257), (130, 700)]),
    *(
        flash_attention(queries, keys, causal)
        for queries, keys in [(1, 1), (1, 129), (63, 127), (64, 128), (65, 129), (100, 300)]
        for causal in (False, True)
    ),
    flash_attention(0, 0, True),
    flash_attention(70, 0, False),
    flash_attention(70, 200, True, group=1, head_dim=32, batch=2),
    *(decode(lengths) for lengths in ([], [0], [0, 0, 0], [1], [511], [512], [513], DECODE_EDGES)),
    decode([300, 0, 700], kv_heads=1, group=8, head_dim=128),
    *(llama_layer(seq) for seq in (0, 1, 63, 64, 65, 130)),
    *(moe(tokens, experts) for tokens, experts in [(0, 4), (1, 4), (40, 4), (130, 3)]),
    moe(50, 8, idle=6),
    moe(20, 4, routes=0),
    moe(64, 4, routes=1, idle=3),
    *(topk_indexer(lengths) for lengths in ([], [0], [64], TIER_EDGES)),
    *(online_softmax(r, c) for r, c in [(0, 100), (1, 1), (31, 255), (32, 256), (33, 257), (70, 1000)]),
    *(
        batched_gemm(*sizes)
        for sizes in [(0, 64, 128, 128), (1, 1, 1, 1), (2, 63, 127, 129), (1, 64, 128, 128)]
    ),
    batched_gemm(2, 65, 129, 300),
    batched_gemm(1, 20, 30, 0),
    *(pipeline(rows) for rows in (0, 1, 63, 64, 65, 128, 300)),
    *(pipelined_gemm(*sizes) for sizes in [(0, 3, 4), (1, 1, 1), (64, 64, 64), (130, 70, 200)]),
    *(pipelined_softmax(rows) for rows in (0, 1, 16, 33, 100)),
    *(pipelined_sums(columns) for columns in (0, 1, 32, 33, 64, 200)),
]


@cache
def example(name: str) -> ModuleType:
    """The example of this name, as a module."""
    return importlib.import_module(name)


@cache
def programs(name: str, build: tuple[tuple[str, Any], ...]) -> tuple[Any, Any]:
    """The example compiled for one thread in order, and for four threads. All sizes share them."""
    workload = example(name).build(**dict(build))
    return workload.compile(enable_debug=True), workload.compile(num_threads=4)


def outputs(arrays: dict[str, Any]) -> dict[str, bytes]:
    """The bytes of every array."""
    return {name: array.tobytes() for name, array in arrays.items() if isinstance(array, np.ndarray)}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_example_agrees_with_its_reference_and_is_the_same_in_parallel(case: Case) -> None:
    module = example(case.name)
    in_order, parallel = programs(case.name, tuple(case.build.items()))
    first, second = module.make(**case.make), module.make(**case.make)
    in_order.execute(**first)
    parallel.execute(**second)
    assert outputs(first) == outputs(second)
    assert module.error(first, **case.error) <= case.allowed


def test_a_layer_over_a_grid_of_tiles_has_the_bits_of_one_without() -> None:
    module = example("llama_layer")
    whole, parts = module.make(130), module.make(130)
    module.build().compile(num_threads=2).execute(**whole)
    module.sharded(module.build()).compile(num_threads=3).execute(**parts)
    assert outputs(whole) == outputs(parts)


MAINS: dict[str, float] = {
    "rmsnorm": rmsnorm(1000, 1500).allowed,
    "flash_attention": flash_attention(500, 700, True).allowed,
    "decode": decode([16384]).allowed,
    "llama_layer": llama_layer(500).allowed,
    "moe": moe(300, 8).allowed,
    "topk_indexer": topk_indexer([131072]).allowed,
    "online_softmax": online_softmax(200, 5000).allowed,
    "batched_gemm": batched_gemm(4, 200, 300, 500).allowed,
    "pipeline": pipeline(1000).allowed,
    "pipelined_gemm": pipelined_gemm(200, 130, 300).allowed,
    "pipelined_softmax": pipelined_softmax(1000).allowed,
    "pipelined_sums": pipelined_sums(1000).allowed,
}


@pytest.mark.parametrize("name", MAINS)
def test_example_prints_one_line_and_is_right_at_its_default_size(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main: Callable[[], float] = example(name).main
    assert main() <= MAINS[name]
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1 and "relative error" in printed


PIPELINED: dict[str, tuple[dict[str, int], str, dict[str, int]]] = {
    # Tasks in the order of `examples/pipelines/*.wsp`, and tokens that go through each channel.
    "pipelined_gemm": (
        {"m": 64, "n": 100, "k": 130},
        "load_a load_b multiply " * 3 + "store " + "load_a load_b multiply " * 3 + "store",
        {"a_blocks": 6, "b_blocks": 6, "done": 2},
    ),
    "pipelined_softmax": ({"rows": 40}, "load_rows take_powers divide_rows " * 3, {"loaded": 3, "taken": 3}),
    "pipelined_sums": (
        {"columns": 72},
        "begin load_columns square add_squares load_columns size add_sizes load_columns square add_squares",
        {"part_0": 2, "part_1": 1, "squared": 2, "sized": 1},
    ),
}


@pytest.mark.parametrize("name", PIPELINED)
def test_pipelines_have_the_tasks_of_their_files_and_tell_what_went_through_channels(name: str) -> None:
    sizes, tasks, tokens = PIPELINED[name]
    module = example(name)
    program = module.build().compile()
    graph = program.graph(**module.make(**sizes))
    assert [graph.kernels[task][0] for task in graph.tasks] == tasks.split()
    found = program.simulate(**module.make(**sizes)).details["channels"]
    assert {channel["name"]: channel["tokens"] for channel in found} == tokens
    assert all(0 < channel["fullest"] <= channel["depth"] for channel in found)
    assert any(channel["receiver_waited"] > 0 for channel in found)
    for options in ({"num_threads": 2}, {"num_aicpus": 3, "expand": "bytecode"}):
        arrays = module.make(**sizes)
        profiled = module.build().compile(enable_profiling=True, **options)
        channels = profiled.execute(**arrays).details["channels"]
        assert {channel["name"]: channel["tokens"] for channel in channels} == tokens
        assert module.error(arrays) <= MAINS[name]


def test_an_example_runs_as_a_script_from_anywhere(tmp_path: Path) -> None:
    script = [sys.executable, str(EXAMPLES / "decode.py"), "600"]
    printed = subprocess.run(script, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert printed.startswith("decode: 24 requests of 0 to 600 keys")


def test_every_example_is_tested() -> None:
    # `test_plans.py` runs the example of plans.
    files = {file.stem for file in EXAMPLES.glob("*.py")} - {"reference", "decode_plan"}
    assert files == set(MAINS) == {case.name for case in CASES}


def test_an_expert_without_tokens_has_no_tasks() -> None:
    moe_example = example("moe")
    arrays = moe_example.make(50, 8, idle=6)
    assert (np.diff(arrays["route_indptr"])[:6] == 0).all()
    _, parallel = programs("moe", ())
    with_idle = parallel.execute(**arrays).num_tasks
    crowded = moe_example.make(50, 2, idle=0)
    assert with_idle == parallel.execute(**crowded).num_tasks


def test_an_empty_request_of_decode_has_a_merge_and_nothing_else() -> None:
    decode_example = example("decode")
    _, parallel = programs("decode", ())
    assert parallel.execute(**decode_example.make([0, 0])).num_tasks == 2 * 2


def test_tiers_of_the_indexer_follow_the_lengths() -> None:
    indexer = example("topk_indexer")
    graph = programs("topk_indexer", ())[1].graph(**indexer.make([2048, 2049, 8192, 8193]))
    tiers = [graph.kernels[task][0] for task in graph.tasks]
    assert len(tiers) == 4
    assert tiers[0] != tiers[1] and tiers[1] == tiers[2] and tiers[2] != tiers[3]


def test_the_reference_error_sees_a_wrong_element() -> None:
    from reference import relative_error

    expected = np.arange(12.0).reshape(3, 4)
    assert relative_error(expected, expected) == 0.0
    wrong = expected.copy()
    wrong[1, 2] += 0.07
    assert relative_error(wrong, expected) == pytest.approx(0.01)
    wrong[0, 0] = np.nan
    assert relative_error(wrong, expected) == math.inf
    assert relative_error(np.zeros((2, 0)), np.zeros((2, 0))) == 0.0
