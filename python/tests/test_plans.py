"""Plans: a run of one is a run of its program, an advanced one is one made anew, and misuse is told."""

from __future__ import annotations

import math
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from misuse import Cases, Misuse, check, copies
from pto_wsp import Capacity, Plan, PlanNeed, Program, Tensor, errors, f16, f32, load, tensor, u32

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DECODE = EXAMPLES / "attention/decode.pto"
PAGE, QO_HEADS, KV_HEADS, DIM = 16, 4, 2, 16


def program(schedule: str = "Fixed", **options: Any) -> Program:
    """The decode program for eight cores."""
    return load(DECODE).program(schedule=schedule, max_blocks=8, num_threads=2, **options)


def table(lengths: list[int]) -> dict[str, np.ndarray]:
    """A page table with pages in falling order."""
    pages = [-(-n // PAGE) for n in lengths]
    return {
        "kv.indptr": np.cumsum([0, *pages]).astype(np.uint32),
        "kv.indices": np.arange(sum(pages), dtype=np.uint32)[::-1].copy(),
        "kv.last_page_len": np.array([(n - 1) % PAGE + 1 if n else 0 for n in lengths], np.uint32),
    }


def shapes(lengths: list[int]) -> dict[str, Any]:
    """What a host knows before there are tensors."""
    cache = (sum(-(-n // PAGE) for n in lengths), PAGE, KV_HEADS, DIM)
    q = (len(lengths), QO_HEADS, 1, DIM)
    return {"q": tensor(q, f16), "kv.k": tensor(cache, f16), "kv.v": tensor(cache, f16), **table(lengths)}


def arrays(lengths: list[int], seed: int = 0) -> dict[str, np.ndarray]:
    """Made-up arrays for requests of these lengths, and room for the results."""
    rng = np.random.default_rng(seed)
    made = {
        name: rng.standard_normal(each.shape).astype(np.float16) if isinstance(each, Tensor) else each
        for name, each in shapes(lengths).items()
    }
    batch = len(lengths)
    room = {
        "output": np.zeros((batch, QO_HEADS, 1, DIM), np.float32),
        "lse": np.zeros((batch, QO_HEADS), np.float32),
    }
    return {**made, **room}


def contents(plan: Plan) -> tuple[Any, ...]:
    """Everything that a plan holds, by value."""
    listed = [(d.stage, d.name, d.first, d.words.tolist()) for d in plan.descriptors]
    return listed, plan.words.tolist(), plan.need, plan.tiles, plan.lengths


@pytest.mark.parametrize("schedule", ["Fixed", "Balanced", "Whole"])
def test_a_run_of_a_plan_has_the_bits_of_a_run_of_the_program(schedule: str) -> None:
    lengths = [1200, 0, 40, 513]
    decode = program(schedule)
    plan = decode.plan(shapes(lengths))
    for seed in (1, 2):  # Layers: other tensors, the same plan.
        want, have = arrays(lengths, seed), arrays(lengths, seed)
        stats = decode.execute(**want)
        assert decode.execute_plan(plan, have).num_tasks == stats.num_tasks == plan.need.descriptors
        assert want["output"].tobytes() == have["output"].tobytes() and np.any(have["output"])
        assert want["lse"].tobytes() == have["lse"].tobytes()


def test_shapes_give_the_plan_of_whole_arrays_and_a_query_its_need() -> None:
    lengths = [1200, 0, 40, 513]
    decode = program()
    plan = decode.plan(arrays(lengths))
    assert contents(decode.plan(shapes(lengths))) == contents(plan)
    assert decode.workspace_query(shapes(lengths)) == decode.workspace_query(arrays(lengths)) == plan.need
    assert isinstance(plan.need, PlanNeed) and plan.need.words == plan.words.size
    assert plan.is_current_for(arrays(lengths)) and plan.is_current_for(**shapes(lengths))
    assert not plan.is_current_for(shapes([1201, 0, 40, 513]))


def test_page_tables_may_be_lists() -> None:
    decode = program()
    lists = {name: each.tolist() for name, each in table([700, 3]).items()}
    assert contents(decode.plan({**shapes([700, 3]), **lists})) == contents(decode.plan(shapes([700, 3])))


def test_a_cache_that_no_machine_could_hold_is_planned() -> None:
    decode = program()
    huge = tensor((2**31, PAGE, KV_HEADS, DIM), f32)  # Over four terabytes.
    plan = decode.plan({**shapes([700]), "kv.k": huge, "kv.v": huge, "q": tensor((1, 4, 1, DIM), f32)})
    assert plan.need == decode.workspace_query(shapes([700]))


@pytest.mark.parametrize("schedule", ["Fixed", "Balanced"])
def test_an_advanced_plan_is_one_made_anew(schedule: str) -> None:
    lengths = [1000, 0, 505, 40]
    decode = program(schedule)
    plan = decode.plan(shapes(lengths))
    patched = 0
    for _ in range(40):
        lengths = [n + 1 for n in lengths]
        regenerated = plan.advance().regenerated
        patched += not regenerated
        # Balanced pieces keep their cuts while these are even.
        if schedule == "Fixed" or regenerated:
            assert contents(plan) == contents(decode.plan(shapes(lengths)))
        assert plan.lengths == {"kv": lengths}
    assert patched > 0
    for lengths in ([3, 4000, 0, 1], [512, 513, 1024, 0]):
        for given in (lengths, np.array(lengths, np.uint32), tuple(lengths)):
            assert plan.advance(given).regenerated
        assert contents(plan) == contents(decode.plan(shapes(lengths)))
    want, have = arrays(lengths), arrays(lengths)
    decode.execute(**want)
    decode.execute_plan(plan, **have)
    assert want["output"].tobytes() == have["output"].tobytes()
    before = contents(plan)
    plan.regenerate()
    assert contents(plan) == before


def test_balanced_pieces_that_kept_their_cuts_give_the_results_of_those_cut_anew() -> None:
    lengths = [1000, 0, 505, 40]
    decode = program("Balanced")
    plan = decode.plan(shapes(lengths))
    for seed in range(12):
        lengths = [n + 1 for n in lengths]
        plan.advance()
        want, have = arrays(lengths, seed), arrays(lengths, seed)
        decode.execute(**want)
        decode.execute_plan(plan, have)
        # Sums of at most 1012 terms in another order: some sqrt(1012) roundings of f32 in each of the two.
        allowed = 2 * math.sqrt(1012) * 2.0**-24
        for name in ("output", "lse"):
            largest = np.abs(want[name]).max(-1, keepdims=True)
            finite = np.where(np.isfinite(largest), largest, 1)
            apart = np.where(want[name] == have[name], 0, want[name] - have[name])
            assert (np.abs(apart) <= allowed * finite).all()
    plan.regenerate()
    assert contents(plan) == contents(decode.plan(shapes(lengths)))


def test_words_of_a_plan_with_room_are_seen_where_they_lie() -> None:
    decode = program()
    need = decode.workspace_query(shapes([1100]))
    plan = decode.plan(shapes([1000]), capacity=Capacity(need.descriptors, need.workspace_bytes))
    words, before = plan.words, plan.words.copy()
    assert words.dtype == np.uint32 and not words.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        words[0] = 1
    for _ in range(20):
        plan.advance()
        assert plan.words.ctypes.data == words.ctypes.data
    assert not np.array_equal(words, before) and np.array_equal(words, plan.words)
    plan.advance([1100])
    assert plan.need == need and plan.words.ctypes.data == words.ctypes.data
    last = plan.words.tolist()
    seen = plan.words
    del plan
    assert seen.tolist() == last  # A view keeps what it shows.


def test_words_without_room_are_a_copy() -> None:
    plan = program().plan(shapes([100]))
    words = plan.words
    before = words.copy()
    plan.advance([5000])
    assert np.array_equal(words, before) and not words.flags.writeable


def test_costs_and_balance_are_those_of_the_pieces() -> None:
    plan = program().plan(shapes([1024, 512]))
    pieces = [d for d in plan.descriptors if d.name == "Piece"]
    costs = plan.costs[[d.name == "Piece" for d in plan.descriptors]]
    assert len(pieces) == KV_HEADS * 3 and len(set(costs.tolist())) == 1
    balance = plan.balance(6)
    assert balance.best == min(balance.consecutive, balance.longest_first) == 1.0
    assert plan.balance(12).best == 2.0
    assert "descriptors in" in repr(plan) and plan.generated_ns > 0 and plan.capacity is None


def test_tasks_of_a_host_entry_are_listed_and_take_the_cycles_of_what_they_move() -> None:
    given = arrays([1024, 512])
    graph = program().graph(**given)
    plan = program().plan(shapes([1024, 512]))
    assert graph.num_tasks == len(plan.descriptors) and len(graph.kernels) > 1
    assert graph.num_edges > 0 and graph.edges.shape == (graph.num_edges, 2)
    assert all(earlier < later for earlier, later in graph.edges)
    simulated = program().simulate(**given)
    cycles = simulated.end - simulated.start
    assert np.array_equal(simulated.graph.edges, graph.edges) and simulated.workers == 2
    assert all(simulated.end[earlier] <= simulated.start[later] for earlier, later in graph.edges)
    # What a task reads of inputs, and besides what it stores.
    assert all(cycles > plan.costs) and simulated.makespan == simulated.end.max()
    turned = dict(given)
    for name in ("kv.k", "kv.v"):
        turned[name] = np.ascontiguousarray(given[name].transpose(0, 2, 1, 3))
    other = program(kv_layout="HND")
    assert np.array_equal(other.graph(**turned).edges, graph.edges)
    assert other.simulate(**turned).makespan == simulated.makespan


def test_a_program_is_simulated_on_the_units_of_a_machine(tmp_path: Path) -> None:
    given = arrays([1024, 512])
    decode = load(DECODE).program(schedule="Fixed", max_blocks=8)
    for model, units in (("ascend_910b", 72), ("ascend_950", 108)):
        simulated = decode.simulate_on(model, **given)
        tasks = simulated.worker < units
        assert simulated.workers == units and tasks.all()
        assert simulated.makespan == simulated.end.max() > 0
    text = (DECODE.parents[2] / "crates/wsp-plan/models/cpu.toml").read_text(encoding="utf-8")
    own = tmp_path / "own.toml"
    own.write_text(text, encoding="utf-8")
    assert decode.simulate_on(own, **given).makespan == decode.simulate_on("cpu", **given).makespan
    own.write_text(text.replace("[clock]", "[clok]"), encoding="utf-8")
    with pytest.raises(errors.WspError, match="clok"):
        decode.simulate_on(str(own), **given)
    with pytest.raises(errors.WspError, match="did you mean `ascend_910b`"):
        decode.simulate_on("ascend_910", **given)
    with pytest.raises(errors.WspError, match="threads"):
        program().simulate_on("cpu", **given)


def test_every_task_of_a_graph_has_a_kernel_barrier_nodes_too(tmp_path: Path) -> None:
    rows = tmp_path / "rows.pto"
    rows.write_text("""
PTO_SHAPE(x, R, 64)
PTO_SHAPE(y, R, 64)
PTO_SPACE(S) { PTO_AXIS(i, 0, R) PTO_AXIS(c, 0, 4) }
struct Part { uint32_t i, c; };
PTO_SCHEDULE(Q) { PTO_ORDER(i, PTO_SEQUENTIAL_STRICT) }
PTO_DESCRIPTOR_GEN(S) {
    PTO_APPLY_SCHEDULE(Q);
    PTO_SCHEDULED_FOR(a, b) { PTO_EMIT_DESCRIPTOR(Part{ .i = a, .c = b }); }
}
PTO_KERNEL_IMPL(part) {
    auto d = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 1, 16> u;
    TLOAD(u, x, {d.i, d.c * 16});
    TSTORE(y, u, {d.i, d.c * 16});
}
void go(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(S, { .x = x, .y = y }); }
""")
    x = np.ones((3, 64), np.float32)
    simulated = load(rows).program(num_threads=2).simulate(x=x, y=x.copy())
    graph = simulated.graph
    named = [graph.kernels[kernel][0] for kernel in graph.tasks]
    assert named.count("part") == 12 and 0 < named.count("@order") == graph.num_tasks - 12
    runs_on = {named[at]: int(worker) for at, worker in enumerate(simulated.worker)}
    assert runs_on["part"] < 2 and runs_on["@order"] == 2**32 - 1


def test_an_order_of_heads_and_tokens_and_plain_operations_are_options() -> None:
    lengths = [300, 20]
    given = arrays(lengths)
    program().execute(**given)
    turned = {**arrays(lengths)}
    for name in ("kv.k", "kv.v"):
        turned[name] = np.ascontiguousarray(turned[name].transpose(0, 2, 1, 3))
    other = program(kv_layout="HND")
    other.execute_plan(other.plan(turned), turned)
    assert given["output"].tobytes() == turned["output"].tobytes()
    plain = arrays(lengths)
    program(optimization_level=0).execute(**plain)
    # Sums in another order, in f32.
    assert np.allclose(plain["output"], given["output"], rtol=1e-4, atol=1e-6)


def test_a_plan_is_run_by_several_threads_at_once() -> None:
    lengths = [1200, 40]
    decode = program()
    plan = decode.plan(shapes(lengths))
    want = arrays(lengths)
    decode.execute(**want)
    given = [arrays(lengths) for _ in range(4)]
    threads = [threading.Thread(target=decode.execute_plan, args=(plan, each)) for each in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each["output"].tobytes() == want["output"].tobytes() for each in given)


def test_arrays_that_are_written_share_no_memory_and_gaps_are_copied() -> None:
    lengths = [1200, 40]
    decode, want = program(), arrays(lengths)
    decode.execute(**want)
    have = arrays(lengths)
    both = np.zeros(2 * have["output"].size, np.float32)
    have["output"] = both[: have["output"].size].reshape(have["output"].shape)
    have["lse"] = both[: have["lse"].size].reshape(have["lse"].shape)
    with pytest.raises(errors.ArgumentError, match="`(output|lse)` and `(output|lse)` share memory"):
        decode.execute(**have)
    assert not both.any(), "it was refused before anything ran"
    wide = np.zeros((*want["lse"].shape, 2), np.float32)
    have["lse"] = wide[..., 0]
    decode.execute(**have)
    assert have["output"].tobytes() == want["output"].tobytes() == both[: want["output"].size].tobytes()
    assert wide[..., 0].tobytes() == want["lse"].tobytes() and not wide[..., 1].any()


def test_a_plan_that_lacks_room_is_usable_again_at_lengths_that_fit() -> None:
    decode = program()
    need = decode.workspace_query(shapes([1000]))
    plan = decode.plan(shapes([1000]), capacity=Capacity(need.descriptors, need.workspace_bytes))
    with pytest.raises(errors.PlanError) as full:
        plan.advance([4000])
    assert full.value.code == "WSP0579" and str(need.descriptors) in str(full.value)
    with pytest.raises(errors.PlanError) as stale:
        decode.execute_plan(plan, arrays([4000]))
    assert stale.value.code == "WSP0578"
    plan.advance([900])
    assert contents(plan) == contents(decode.plan(shapes([900])))


def test_the_example_is_right() -> None:
    sys.path.insert(0, str(EXAMPLES / "python"))
    import decode_plan

    # What sums in f32 over some hundred tokens leave; a lost bit of f16 (5e-4) shows.
    assert decode_plan.main(20) <= 1e-5


CASES = Cases([])


@CASES.add(errors.PlanError, "WSP0578", "`lengths of kv[1]` is 41, and was 40")
def other_lengths() -> None:
    decode = program()
    decode.execute_plan(decode.plan(shapes([700, 40])), arrays([700, 41]))  # here


@CASES.add(errors.PlanError, "WSP0578", "it is for 8 cores, this program for 9")
def another_program() -> None:
    nine = load(DECODE).program(schedule="Fixed", max_blocks=9)
    nine.execute_plan(program().plan(shapes([700])), arrays([700]))  # here


@CASES.add(errors.PlanError, "WSP0579", "program.workspace_query(arrays)")
def too_little_room() -> None:
    program().plan(shapes([700]), capacity=Capacity(descriptors=1, workspace_bytes=0))  # here


@CASES.add(errors.PlanError, "WSP0580", "1 length is given for 2 requests")
def lengths_of_other_requests() -> None:
    program().plan(shapes([700, 40])).advance([5])  # here


@CASES.add(errors.PlanError, "WSP0580", "request 1 cannot have -1 tokens")
def a_negative_length() -> None:
    program().plan(shapes([700, 40])).advance([5, -1])  # here


@CASES.add(errors.PlanError, "WSP0580", "a list of integers")
def lengths_that_are_no_integers() -> None:
    program().plan(shapes([700])).advance([0.5])  # here


@CASES.add(errors.ArgumentError, "WSP0550", "its elements are needed")
def a_page_table_by_its_shape() -> None:
    program().plan({**shapes([700]), "kv.indptr": tensor((2,), u32)})  # here


@CASES.add(errors.ArgumentError, "WSP1250", "`q` is no array")
def a_tensor_in_a_run() -> None:
    decode = program()
    decode.execute_plan(decode.plan(shapes([700])), shapes([700]))  # here


@CASES.add(errors.ArgumentError, "WSP1262", "all of its extents as integers")
def an_extent_by_name() -> None:
    program().plan({**shapes([700]), "q": tensor(("batch", 4, 1, DIM), f16)})  # here


@CASES.add(errors.ArgumentError, "WSP1260", "did you mean `kv.indptr`?")
def a_misspelt_array() -> None:
    program().plan({**shapes([700]), "kv.indprt": np.zeros(2, np.uint32)})  # here


@CASES.add(errors.ArgumentError, "WSP1262", "program.plan(arrays)")
def no_plan() -> None:
    program().execute_plan(None, arrays([700]))  # here


@CASES.add(errors.ArgumentError, "WSP1259", "`program.explain()` says what the target does")
def a_plan_of_nothing() -> None:
    program().plan()  # here


@CASES.add(errors.ArgumentError, "WSP1262", "`descriptors` of a capacity")
def a_negative_room() -> None:
    program().plan(shapes([700]), capacity=Capacity(-1, 0))  # here


@CASES.add(errors.ArgumentError, "WSP1262", "give arrays by name")
def a_number_for_arrays() -> None:
    program().plan(5)  # here


@CASES.add(errors.ArgumentError, "WSP1263", "a list of integers")
def a_page_table_of_floats() -> None:
    program().plan({**shapes([700]), "kv.indptr": [0, 43.5]})  # here


@CASES.add(errors.CompileError, "WSP1220", "did you mean `max_blocks`?")
def a_misspelt_option() -> None:
    load(DECODE).program(maxblocks=9)  # here


@CASES.add(errors.ArgumentError, "WSP1262", "`capacity` is")
def a_number_for_a_room() -> None:
    program().plan(shapes([700]), capacity=100)  # here


@CASES.add(errors.ArgumentError, "WSP1262", "from 1 to 4294967295")
def no_cores() -> None:
    program().plan(shapes([700])).balance(0)  # here


@CASES.add(errors.ArgumentError, "WSP0882", "host entries of `.pto` files")
def a_plan_of_a_workload() -> None:
    copies.compile().plan({"n": 4})  # here


@CASES.add(errors.CompileError, "WSP1220", "`schedule`")
def a_schedule_of_a_workload() -> None:
    copies.compile(schedule="Fixed")  # here


@CASES.add(errors.CompileError, "WSP1221", '"NHD"')
def an_unknown_order() -> None:
    load(DECODE).program(kv_layout="DHN")  # here


@CASES.add(errors.ScheduleError, "WSP0403", "`Fixed`")
def an_unknown_schedule() -> None:
    load(DECODE).program(schedule="Fixd")  # here


@pytest.mark.parametrize("case", CASES.all, ids=str)
def test_misuse(case: Misuse) -> None:
    check(case)


def test_aicpus_of_a_machine_issue_the_tasks_of_a_simulation() -> None:
    decode = load(DECODE).program(schedule="Fixed", max_blocks=8)
    given = arrays([1024, 512])
    plain, two = (
        decode.simulate_on("ascend_910b", **given),
        decode.simulate_on("ascend_910b", aicpus=2, **given),
    )
    tasks = [aicpu["tasks"] for aicpu in two.details["aicpus"]]
    assert len(tasks) == 2 and sum(tasks) == int((two.worker < 72).sum())
    assert two.makespan > plain.makespan + two.details["launch"]
    assert "aicpus" not in plain.details
    other = load(DECODE).program(schedule="Fixed", max_blocks=8, num_aicpus=2)
    assert other.simulate_on("ascend_910b", **given).makespan == two.makespan
    assert other.simulate_on("ascend_910b", aicpus=0, **given).makespan == plain.makespan
    with pytest.raises(errors.ArgumentError, match="has 4 AICPU threads"):
        decode.simulate_on("ascend_910b", aicpus=5, **given)
    with pytest.raises(errors.ArgumentError, match="has no AICPUs"):
        decode.simulate_on("cpu", aicpus=1, **given)
