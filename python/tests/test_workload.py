"""Workloads: what they become as IR, that variables keep their identity, and what is known about views."""

from __future__ import annotations

import json

import numpy
import pytest
from declared import Declared, document, ir
from pto_wsp import (
    Buffer,
    Channel,
    Constexpr,
    Dense,
    DenseDyn,
    P,
    Ragged,
    Slot,
    Sparse,
    combine,
    errors,
    f16,
    f32,
    i32,
    i64,
    ragged,
    sequential,
    sparse,
    table,
    tensor,
    tile,
    workload,
)
from pto_wsp._seam import ViewSpec

attn = Declared("attn", "in q, in k, in v, out o")
step = Declared("step", "inout x")
move = Declared("move", "in a, out b")
number = Declared("number", "n")

Q = tensor(("batch", "heads", 128), f16)
K = tensor(("batch", 128), f16)
V = tensor(("batch", 128), f16)
O = tensor(("batch", "heads", 128), f16)
X = tensor(("n", 64), f32)
Y = tensor(("n", 64), f32)


def body(w) -> str:
    """The statements of a workload, without what stands before."""
    text = ir(w)
    start = text.index("workload ")
    end = text.find("schedule {", start)
    lines = (text[start:] if end < 0 else text[start:end]).splitlines()[1:-1]
    return "\n".join(line[4:] for line in lines)


def test_the_sample_of_document_001_runs_as_printed():
    @workload
    def attention(batch, heads):
        for b, h in P(batch, heads):
            attn[b,h](Q[b,h], K[b], V[b], O[b,h])  # fmt: skip

    assert body(attention) == (
        "parallel for b in batch_axis {\n"
        "    parallel for h in heads_axis {\n"
        "        attn(b, h, Q[b, h], K[b], V[b], O[b, h]);\n"
        "    }\n"
        "}"
    )
    assert "tensor Q: f16[batch, heads, 128];" in ir(attention)


def test_the_repr_of_a_workload_is_its_ir():
    @workload
    def w(n):
        for i in P(n):
            step[i](X[i])

    assert "parallel for i in" in repr(w) and "step(i, X[i]);" in repr(w)


def test_an_empty_workload_is_a_value_and_decorates():
    assert body(workload()) == ""
    empty = workload()

    @empty
    def named(n):
        for i in P(n):
            step[i](X[i])

    assert named.name == "named" and body(empty) == ""

    @workload(name="other")
    def w(n):
        step(X)

    assert w.name == "other"


def test_binding_gives_another_workload():
    @workload
    def w(n, m=3):
        for i, j in P(n, m):
            number[i, j](i)

    bound = w(n=4)
    assert "dense(4)" in ir(bound) and "dense(3)" in ir(bound)
    assert "dense_dyn(n)" in ir(w)
    assert "dense(5)" in ir(w(Dense[5])) and "dense(2, 6)" in ir(w(Dense[2:6], m=1))
    assert "dense_dyn(m)" in ir(w(m=DenseDyn))
    assert "tensor X: f32[4, 64]" in ir(workload(_uses_x)(n=4))
    with pytest.raises(AttributeError, match="does not change"):
        w.x = 1


def _uses_x(n):
    for i in P(n):
        step(X[i])


def test_names_of_tensors_that_are_made_beside_a_starred_one():
    one, *several, other = tensor(("n", 8)), tensor(("n", 8)), tensor(("n", 8)), tensor(("n", 8))
    *some, last = tensor(("n", 8)), tensor(("n", 8)), tensor(("n", 8))
    k = Declared("k", "in x, out y")

    @workload
    def w(n: DenseDyn):
        for i in P(n):
            k[i](one[i], several[0][i])
            k[i](several[1][i], other[i])
            k[i](some[0][i], last[i])

    program = str(ir(w))
    for name in ("one", "other", "last", "several_0", "several_1", "some_0"):
        assert f"tensor {name}:" in program, program


def test_same_names_in_nested_loops_are_different_variables():
    @workload
    def w(n):
        for i in P(n):
            outer = i
            for i in P(4):
                move(X[outer, i], Y[i, outer])

    entry = document(w)["workload"]["workloads"][0]
    assert [var["name"] for var in entry["vars"]] == ["i", "i"]
    inner = entry["body"][0]["body"][0]["body"][0]
    ids = [[bound["i"]["id"] for bound in arg["ranges"]] for arg in inner["args"]]
    assert ids == [[0, 1], [1, 0]]


def test_nests_of_any_shape_keep_their_loops_apart():
    @workload
    def w(n):
        for i in P(n):
            for j in P(2):
                step(X[i, j])
            for j in P(3):
                step(X[i, j])
            step(X[i])
        for i in P.seq(n):
            step(X[i])

    assert body(w) == (
        "parallel for i in n_axis {\n"
        "    parallel for j in 0..2 {\n        step(X[i, j]);\n    }\n"
        "    parallel for j in 0..3 {\n        step(X[i, j]);\n    }\n"
        "    step(X[i]);\n"
        "}\n"
        "for i in n_axis {\n    step(X[i]);\n}"
    )


def test_one_name_for_several_indices_and_ranges():
    @workload
    def w(n):
        for ij in P(n, 4):
            number[ij](ij[0] + ij[1])
        for i in P(range(2, 10, 3)):
            number(i)
        for i in P(P.range(n, 2 * n, n // 4)):
            number(i)
        (i,) = (7,)
        for (i,) in P(Dense[1:3]):
            number(i)

    text = body(w)
    assert "number(ij_0, ij_1, ij_0 + ij_1);" in text
    assert "in 2..10 step 3 {" in text and "in n..2 * n step n / 4 {" in text and "in 1..3 {" in text


def test_python_loops_and_helpers_write_statements_again():
    def row(view, count):
        for k in range(count):
            for j in P(8):
                move(view[j], Y[k, j])

    @workload
    def w(n, depth: Constexpr = 2):
        for i in P(n):
            row(X[i], depth)

    assert body(w).count("move(X[i, j], Y[0, j]);") == 1
    assert body(w(depth=3)).count("parallel for j") == 3


def test_select_when_otherwise_and_loop():
    again = Slot(1)
    lens = table(length="batch")

    @workload
    def w(batch, tok: Ragged[i64, "batch"], route: Sparse[i64, "batch"]):
        for b in P(batch):
            for t in P(tok):
                number(lens[b] + t)
            for e, p in P.sel(route).enumerate():
                with P.when((e > 0) & ~(p == 3) | (lens[b] < 2)):
                    number(e)
                with P.otherwise():
                    number(P.select(e > 1, p, b))
        for _ in P.loop(again > 0, 100):
            step(again)

    assert body(w) == (
        "parallel for b in batch_axis {\n"
        "    parallel for t in tok_axis[b] {\n        number(lens[b] + t);\n    }\n"
        "    select e @ p in route[b] {\n"
        "        if e > 0 && !(p == 3) || lens[b] < 2 {\n            number(e);\n"
        "        } else {\n            number(e > 1 ? p : b);\n        }\n    }\n"
        "}\n"
        "while again > 0 max 100 {\n    step(again);\n}"
    )
    text = ir(w)
    assert "table tok[batch];" in text and "axis tok_axis = ragged(batch_axis, tok);" in text
    assert "table route_indptr[batch + 1];" in text and "slot again = 1;" in text


def test_axes_as_values():
    @workload
    def w(b, tok, route):
        for i in P(b):
            for t in P(tok[i]):
                number(t)
            for e in P.sel(route[i]):
                number(e)

    text = ir(w(2, ragged("b", [3, 1]), sparse("b", [0, 1, 2], [5, 6])))
    assert "= [3, 1];" in text and "= [0, 1, 2];" in text and "= [5, 6];" in text
    assert "ragged(b, " in text and "dense(2)" in text


def test_combine_and_sequential_of_values_and_in_a_trace():
    @workload
    def one(n):
        step(X)

    @workload
    def two(i, j):
        move(X[i], Y[j])

    blocks = "    {\n        step(X);\n    }\n    {\n        step(X);\n    }\n}"
    assert body(combine(one, one)) == "combine {\n" + blocks
    assert body(sequential(one, one)) == "sequential {\n" + blocks

    @workload
    def w(n):
        for i in P(n):
            sequential(lambda: two(i, 0), lambda: two(0, j=i))
        combine(lambda: one(3), lambda: step(Y))

    assert "move(X[i], Y[0]);" in body(w) and "move(X[0], Y[i]);" in body(w)
    assert body(w).endswith("combine {\n    {\n        step(X);\n    }\n    {\n        step(Y);\n    }\n}")


def test_recursion_ends_by_values_that_python_knows():
    @workload
    def halves(lo, depth: Constexpr):
        if depth == 0:
            step(X[lo])
        else:
            halves(2 * lo, depth - 1)
            halves(2 * lo + 1, depth - 1)

    @workload
    def w(n):
        for i in P(n):
            halves(i, 3)

    assert body(w).count("step(") == 8


def test_pipelines():
    ring = Channel((16, 64), f32, depth=2)
    done = Channel(depth=1)

    @workload
    def w(n):
        with P.pipe():
            with P.process("load"):
                for i in P(n):
                    with ring.send() as slot:
                        move(X[tile(i, 16)], slot)
            with P.process("compute"):
                for i in P(n):
                    with ring.consume() as slot, done.send():
                        move(slot, Y[tile(i, 16)])
            with P.process("count"):
                for _ in P(n):
                    with done.consume():
                        number(1)

    text = body(w)
    assert "process load {" in text and "send ring as " in text and "consume done as " in text
    assert "tensor ring_2: f32[2, 16, 64]" in ir(w) or "tensor ring: f32[2, 16, 64]" in ir(w)
    assert document(w)["workload"]["tensors"][-1]["storage"] in ("temporary", "argument")


def test_channels_are_closed_and_selected_from():
    a = Channel((16, 64), f32, depth=0)
    b = Channel(depth=3)

    @workload
    def w(n):
        with P.pipe():
            with P.process("load"):
                for i in P(n):
                    with a.send() as slot:
                        move(X[tile(i, 16)], slot)
                a.close()
            with P.process("count"):
                for _ in P(n):
                    with b.send():
                        number(1)
                b.close()
            with P.process("join"):
                with P.select_channel(all=True):
                    with a.consume() as slot:
                        move(slot, Y[tile(0, 16)])
                    with b.consume():
                        number(2)

    text = body(w)
    assert "channel a[0];" in text and "channel b[3];" in text
    assert "close a;" in text and "close b;" in text
    assert "select all {" in text and "consume a as " in text and "consume b as " in text
    assert "[1, 16, 64]" in ir(w), "a tile that is handed over lies in a slot"

    @workload
    def drain(n):
        with P.pipe():
            with P.process("load"):
                with a.send() as slot:
                    move(X[tile(0, 16)], slot)
                a.close()
            with P.process("store"):
                with a.consume(all=True) as slot:
                    move(slot, Y[tile(0, 16)])

    assert "consume all a as " in body(drain)


# Views.


def spec_of(make, shape=("n", 64)):
    """What a kernel knows of a view."""
    made = []
    taker = Declared("taker", "in v", specs=made)
    T = tensor(shape, f32)

    @workload
    def w(n):
        for i in P(n // 16):
            taker(make(T, i))

    ir(w)
    return made[-1][0]


@pytest.mark.parametrize(
    ("make", "keep", "extents", "most"),
    [
        (lambda t, i: t, (0, 1), (None, 64), (None, 64)),
        (lambda t, i: t[i], (1,), (64,), (64,)),
        (lambda t, i: t[i, 3], (1,), (1,), (1,)),
        (lambda t, i: t[i, ..., 3], (1,), (1,), (1,)),
        (lambda t, i: t[..., 3], (0,), (None,), (None,)),
        (lambda t, i: t[tile(i, 16)], (0, 1), (16, 64), (16, 64)),
        (lambda t, i: t[tile(i, 24)], (0, 1), (None, 64), (24, 64)),
        (lambda t, i: t[tile(i, 24, 5)], (0, 1), (None, 64), (24, 64)),
        (lambda t, i: t[tile(i, 24, i, i + 30)], (0, 1), (None, 64), (24, 64)),
        (lambda t, i: t[16 * i : 16 * i + 16, :32], (0, 1), (16, 32), (16, 32)),
        (lambda t, i: t[16 * i : 16 * (i + 1)][tile(i % 4, 4), 8:-8], (0, 1), (4, 48), (4, 48)),
        (lambda t, i: t[P.min(i, 3) : P.min(i, 3) + 2], (0, 1), (2, 64), (2, 64)),
        (lambda t, i: t[i : i + P.min(i, 5)], (0, 1), (None, 64), (None, 64)),
        (lambda t, i: t[-1], (1,), (64,), (64,)),
    ],
)
def test_what_is_known_about_a_view(make, keep, extents, most):
    found = spec_of(make)
    assert (found.dtype, found.keep) == ("f32", keep)
    if most[0] is None and extents[0] is None:
        assert found.extents[0] is None
    else:
        assert found == ViewSpec("f32", keep, extents, most)


def test_bounds_of_extents_that_depend_on_the_index():
    found = spec_of(lambda t, i: t[i : i + i % 5])
    assert (found.extents, found.most) == ((None, 64), (4, 64))


def test_regions_of_views_of_views():
    @workload
    def w(n):
        for i in P(n // 16):
            part = X[tile(i, 16), 32:]
            for j in P(4):
                move(part[4 * j : 4 * j + 4, 2], Y[tile(i, 10)])

    lens = table([0, 5, 9], name="rows")

    @workload
    def ragged(n):
        for i in P(2):
            for j in P(P.ceildiv(lens[i + 1] - lens[i], 2)):
                step(X[tile(j, 2, lens[i], lens[i + 1])])

    assert "step(X[rows[i] + j * 2..min(rows[i] + j * 2 + 2, rows[i + 1])]);" in body(ragged)
    assert "move(X[i * 16 + 4 * j +: 4, 34], Y[i * 10..min(i * 10 + 10, n)]);" in body(w)


def test_a_view_knows_its_shape():
    shapes = []

    @workload
    def w(n):
        shapes.append(X.shape)
        for i in P(n // 16):
            number(X[tile(i, 16)].shape[0])
            number(X[i, 2:5].shape[0])

    text = body(w)
    assert "number(16);" in text and "number(3);" in text
    assert repr(shapes[0]) == "(n, 64)"


LEAST, MOST = -(2**63), 2**63 - 1
LARGE = [LEAST, LEAST + 1, -(2**62) - 5, -(2**62), 2**62, 2**62 + 1, MOST - 1, MOST]


@pytest.mark.parametrize("a", [-7, -1, 0, 5, 9, *LARGE])
@pytest.mark.parametrize("b", [-3, -1, 1, 4, *LARGE])
def test_quotients_round_as_in_python(a, b):
    """Expressions of a table's elements, of which no sign is known, evaluated by the rules of the IR."""
    values = table([a, b], name="t")

    @workload
    def w():
        for divisor in (b, values[1]):
            number(values[0] % divisor)
            number(values[0] // divisor)

    tasks = document(w)["workload"]["workloads"][0]["body"]
    nodes = [task["args"][0]["scalar"] for task in tasks]
    quotients = nodes if a // b <= MOST else nodes[::2]
    wanted = [a % b, a // b] * 2 if a // b <= MOST else [a % b] * 2
    assert [evaluated(node, [a, b]) for node in quotients] == wanted


def evaluated(node, values):
    """An expression of the document as the IR defines it: `div` and `rem` towards zero, `ceildiv` up."""
    if isinstance(node, int):
        return node
    kind = node["k"]
    if kind == "table":
        return values[evaluated(node["index"], values)]
    if kind == "choose":
        return evaluated(node["a" if evaluated(node["c"], values) else "b"], values)
    a = evaluated(node["a"], values)
    if kind == "neg":
        return fit(-a)
    b = evaluated(node["b"], values)
    towards_zero = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0
    return fit(
        {
            "add": a + b,
            "sub": a - b,
            "mul": a * b,
            "div": towards_zero,
            "rem": a - b * towards_zero,
            "ceildiv": -(-a // b) if b else 0,
            "lt": int(a < b),
            "eq": int(a == b),
            "ne": int(a != b),
        }[kind]
    )


def fit(value):
    assert LEAST <= value <= MOST, f"{value} has more than 64 bits"
    return value


def test_quotients_of_quotients_by_what_is_no_number_end():
    """Each is written with copies of the ones before."""
    values = table([1], name="t")

    @workload
    def w():
        n = values[0]
        for _ in range(40):
            n = (n - 5) % values[0]
        number(n)

    with pytest.raises(errors.TraceError, match="more than 50000 operations"):
        document(w)


def test_quotients_of_what_is_not_negative_are_plain():
    @workload
    def w(n):
        for i in P(n):
            number((n - 1 - i) // 4)
            number((i + 3) % 8)
            number((i - 1) // 2)

    assert "number((n - 1 - i) / 4);" in body(w)
    assert "number((i + 3) % 8);" in body(w)
    assert "number(-ceildiv(i - 1, -2));" in body(w)


def test_numpy_integers_and_arrays():
    data = numpy.zeros((4, 64), numpy.float32)
    bound = tensor(data, name="bound")

    @workload
    def w():
        for i in P(numpy.int64(4)):
            move(bound[i], Y[numpy.uint8(2)])

    assert "tensor bound: f32[4, 64];" in ir(w)
    assert tensor(numpy.zeros((2,), numpy.int32)).dtype is i32
    assert tensor(memoryview(b"abcd")).dtype.name == "u8"


# Names.


def test_tensors_are_called_after_their_variables():
    layers = [tensor((4,), f32) for _ in range(2)]
    local = tensor((4,), f32)

    @workload
    def w():
        here = Buffer((4,), f32)
        for weight in layers:
            move(weight, local)
        move(local, here)

    names = [entry["name"] for entry in document(w)["workload"]["tensors"]]
    assert names == ["layers_0", "local", "layers_1", "here"]


def test_the_same_source_gives_the_same_document():
    @workload
    def w(n):
        for i in P(n):
            step[i](X[i])

    first, second = w._document().to_json(), w._document().to_json()
    assert first == second
    assert str(json.loads(first)["files"][0]["name"]).endswith("test_workload.py")


def test_places_are_those_of_the_source():
    @workload
    def w(n):
        for i in P(n):
            step[i](X[i + 1])

    found = document(w)
    task = found["workload"]["workloads"][0]["body"][0]["body"][0]
    file, line, col, end_line, end_col = found["spans"][task["s"]]
    text = found["files"][file]["text"].splitlines()[line - 1]
    assert text.encode()[col:end_col].decode() == "step[i](X[i + 1])" and line == end_line


def test_specialisations_are_shared():
    taker = Declared("taker", "in v, const c=1")

    @workload
    def w(n):
        for i in P(n):
            taker(X[i])
            taker(Y[i])
            taker(X[i], c=2)
            taker[i](X[i])
            taker[i](X[i], 1)

    assert [kernel["name"] for kernel in document(w)["workload"]["kernels"]] == ["taker"] * 3


def test_labels_number_the_tasks_that_others_name():
    @workload
    def w(n):
        a = move(X[0], Y[0])
        b = move(X[1], Y[1])
        step(Y[1], after=[b])
        for i in P(n):
            c = move(X[i], Y[i])
        step(Y, after=[a, c])

    text = body(w)
    assert "let move = move(X[0], Y[0]);" in text and "let move_2 = move(X[1], Y[1]);" in text
    assert "step(Y[1]) after move_2;" in text and "step(Y) after move, move_3;" in text


def test_tracing_does_not_depend_on_extents():
    @workload
    def w(n):
        for i in P(n):
            step[i](X[i])

    small, large = (len(w(n=n)._document().to_json()) for n in (10, 10**7))
    assert abs(small - large) < 64
