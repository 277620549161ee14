"""A plain interpreter of compiled kernels, and a way to run one on it and on the CPU backend.

It reads the bodies that the compiler writes and does what the doc comments of the IR say, with NumPy in
`float32`: strictly, so that a body that breaks a rule fails here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from pto_wsp import _core
from pto_wsp._seam import ConstexprArg, ScalarArg, ViewSpec

NUMPY = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64}
RANGES = {
    "u32": (0, 2**32 - 1),
    "i32": (-(2**31), 2**31 - 1),
    "i64": (-(2**63), 2**63 - 1),
    "u64": (0, 2**64 - 1),
}


def gelu_tanh(x: float) -> float:
    """The form of GELU with the hyperbolic tangent."""
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def sigmoid(x: float) -> float:
    """`1 / (1 + e^-x)`"""
    return 0.0 if x < -700 else 1 / (1 + math.exp(-x))


def limited(function: Callable[[float], float]) -> Callable[[float], float]:
    """A function whose limit at -∞ is 0."""
    return lambda x: 0.0 if x == -math.inf else function(x)


OF_MATH = {
    "sigmoid": sigmoid,
    "silu": limited(lambda x: x * sigmoid(x)),
    "gelu": limited(lambda x: x / 2 * math.erfc(-x / math.sqrt(2))),
    "gelu_tanh": limited(gelu_tanh),
    "erf": math.erf,
}
"""Functions that NumPy lacks, of one number."""


def in_f64(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of one number for every element."""
    return np.vectorize(lambda x: function(float(x)), otypes=[np.float64])


def uniform(seed: int, place: int) -> float:
    """A number of a sequence of Philox-4x32-10, in [0, 1)."""
    block = place // 4
    c, k = [block % 2**32, block // 2**32, 0, 0], [seed, 0]
    for _ in range(10):
        p, q = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [q // 2**32 ^ c[1] ^ k[0], q % 2**32, p // 2**32 ^ c[3] ^ k[1], p % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c[place % 4] // 256 / 2**24


class Trap(Exception):
    """The run stops."""


class Break(Exception):
    """`break`"""


class Continue(Exception):
    """`continue`"""


class Return(Exception):
    """`return`"""


@dataclass
class TileCell:
    """A tile: room, element type, and the valid part."""

    rows: int
    cols: int
    elem: str
    value: np.ndarray | None = None

    def get(self) -> np.ndarray:
        if self.value is None:
            raise Trap("a tile that is not written")
        return self.value

    def set(self, value: np.ndarray) -> None:
        assert value.ndim == 2 and value.dtype == np.float32
        if value.shape[0] > self.rows or value.shape[1] > self.cols:
            raise Trap(f"{value.shape} does not fit {self.rows} x {self.cols}")
        self.value = value.astype(NUMPY[self.elem]).astype(np.float32)


@dataclass
class Spans:
    """The places of one document."""

    files: list[str] = field(default_factory=list)
    spans: list[list[int]] = field(default_factory=list)

    def add(self, filename: str, line: int, col: int, end_line: int, end_col: int) -> int:
        if filename not in self.files:
            self.files.append(filename)
        entry = [self.files.index(filename), line, col, end_line, end_col]
        if entry not in self.spans:
            self.spans.append(entry)
        return self.spans.index(entry)


class Machine:
    """One run of a kernel's body over arrays."""

    def __init__(self, body: dict[str, Any], arrays: list[np.ndarray], words: list[int]) -> None:
        self.body = body
        self.arrays = arrays
        self.fields = [
            words[f["scalar"]] if "scalar" in f else arrays[f["view"]].shape[f["dim"]] for f in body["fields"]
        ]
        self.locals: list[Any] = []
        for local in body["function"]["locals"]:
            if local["ty"] == "tile":
                self.locals.append(TileCell(local["rows"], local["cols"], local["elem"]))
            else:
                self.locals.append(0.0 if local["ty"] in ("f32", "f64") else 0)
        self.tys = [local["ty"] for local in body["function"]["locals"]]

    def run(self) -> None:
        for shape, array in zip(self.body["views"], self.arrays, strict=True):
            for want, have in zip(shape["extents"], array.shape, strict=True):
                assert want is None or want == have, (shape, array.shape)
        try:
            self.block(self.body["function"]["body"])
        except Return:
            pass

    def block(self, stmts: list[dict[str, Any]]) -> None:
        for stmt in stmts:
            with np.errstate(all="ignore"):
                getattr(self, "do_" + stmt["k"])(stmt)

    # Statements

    def do_assign(self, s: dict[str, Any]) -> None:
        value = self.expr(s["value"])
        assert self.ty(s["value"]) == self.tys[s["local"]], s
        self.locals[s["local"]] = value

    def do_if(self, s: dict[str, Any]) -> None:
        self.block(s["then"] if self.expr(s["cond"]) else s["otherwise"])

    def do_for(self, s: dict[str, Any]) -> None:
        start, end, step = (self.expr(s[name]) for name in ("start", "end", "step"))
        if step < 1:
            raise Trap("step")
        for i in range(start, end, step):
            self.locals[s["var"]] = i
            try:
                self.block(s["body"])
            except Break:
                break
            except Continue:
                continue

    def do_while(self, s: dict[str, Any]) -> None:
        while self.expr(s["cond"]):
            try:
                self.block(s["body"])
            except Break:
                break
            except Continue:
                continue

    def do_break(self, s: dict[str, Any]) -> None:
        raise Break

    def do_continue(self, s: dict[str, Any]) -> None:
        raise Continue

    def do_return(self, s: dict[str, Any]) -> None:
        raise Return

    def do_store_scalar(self, s: dict[str, Any]) -> None:
        index = self.index(s)
        self.arrays[s["tensor"]][index] = self.expr(s["value"])

    def index(self, s: dict[str, Any]) -> tuple[int, ...]:
        array = self.arrays[s["tensor"]]
        index = tuple(self.expr(x) for x in s["index"])
        assert all(self.ty(x) == "u32" for x in s["index"]) and len(index) == array.ndim
        for i, n in zip(index, array.shape, strict=False):
            if i >= n:
                raise Trap(f"index {index} of {array.shape}")
        return index

    def window(
        self, s: dict[str, Any], want: tuple[int, int], strict: bool
    ) -> tuple[tuple[Any, ...], int, int]:
        array = self.arrays[s["tensor"]]
        index: list[Any] = [self.expr(x) for x in s["index"]]
        assert all(self.ty(x) == "u32" for x in s["index"]) and len(index) == array.ndim
        sizes = []
        for dim, n in ((s.get("row_dim"), want[0]), (s.get("col_dim"), want[1])):
            if dim is None:
                assert n == 1, s
                sizes.append(min(n, 1))
                continue
            have = max(array.shape[dim] - index[dim], 0)
            if strict and have < n:
                raise Trap("store past the end")
            sizes.append(min(have, n))
        for dim, i in enumerate(index):
            if dim not in (s.get("row_dim"), s.get("col_dim")) and i >= array.shape[dim]:
                raise Trap(f"index {i} of dimension {dim}")
        for dim, n in zip((s.get("row_dim"), s.get("col_dim")), sizes, strict=False):
            if dim is not None:
                index[dim] = slice(index[dim], index[dim] + n)
        return tuple(index), sizes[0], sizes[1]

    def do_load(self, s: dict[str, Any]) -> None:
        dst = self.locals[s["dst"]]
        want = [dst.rows, dst.cols]
        for i, name in enumerate(("rows", "cols")):
            if name in s:
                assert self.ty(s[name]) == "u32"
                want[i] = min(want[i], self.expr(s[name]))
        array = self.arrays[s["tensor"]]
        assert array.dtype in (np.float32, np.float16, ml_dtypes.bfloat16, np.float64)
        index, rows, cols = self.window(s, (want[0], want[1]), False)
        found = array[index].astype(np.float32)
        row_dim, col_dim = s.get("row_dim"), s.get("col_dim")
        if row_dim is not None and col_dim is not None and row_dim > col_dim:
            found = found.T
        dst.set(found.reshape(rows, cols).copy())

    def do_store(self, s: dict[str, Any]) -> None:
        src = self.locals[s["src"]].get()
        for name, have in zip(("rows", "cols"), src.shape, strict=True):
            if name in s and self.expr(s[name]) < have:
                raise Trap(f"{src.shape} past the end of a slice")
        index, _, _ = self.window(s, src.shape, True)
        array = self.arrays[s["tensor"]]
        row_dim, col_dim = s.get("row_dim"), s.get("col_dim")
        if row_dim is not None and col_dim is not None and row_dim > col_dim:
            src = src.T
        array[index] = src.reshape(array[index].shape).astype(array.dtype)

    def do_fill(self, s: dict[str, Any]) -> None:
        dst = self.locals[s["dst"]]
        rows = min(dst.rows, self.expr(s["rows"])) if "rows" in s else dst.rows
        cols = min(dst.cols, self.expr(s["cols"])) if "cols" in s else dst.cols
        dst.set(np.full((rows, cols), self.expr(s["value"]), np.float32))

    def do_unary(self, s: dict[str, Any]) -> None:
        x = self.locals[s["src"]].get()
        one = np.float32(1)
        # The others have NumPy's names.
        named = {
            "neg": np.negative,
            "rsqrt": lambda x: one / np.sqrt(x),
            "recip": lambda x: one / x,
            "relu": lambda x: np.maximum(x, 0),
            **{name: in_f64(function) for name, function in OF_MATH.items()},
        }
        apply = named.get(s["op"]) or getattr(np, s["op"])
        self.locals[s["dst"]].set(apply(x).astype(np.float32))

    def right(self, s: dict[str, Any], shape: tuple[int, int]) -> Any:
        """The right operand of an operation whose left one has this shape."""
        ((how, operand),) = s["b"].items()
        if how == "scalar":
            assert self.ty(operand) == "f32"
            return np.float32(self.expr(operand))
        b = self.locals[operand].get()
        need = {"tile": shape, "column": (shape[0], 1), "row": (1, shape[1])}[how]
        if b.shape != need:
            raise Trap(f"{b.shape} as a {how} of {shape}")
        return b

    def do_clamp(self, s: dict[str, Any]) -> None:
        low, high = (np.float32(self.expr(s[name])) for name in ("low", "high"))
        self.locals[s["dst"]].set(np.clip(self.locals[s["src"]].get(), low, high))

    def do_select(self, s: dict[str, Any]) -> None:
        mask, a = (self.locals[s[name]].get() for name in ("mask", "a"))
        if a.shape != mask.shape:
            raise Trap(f"{a.shape} by a mask of {mask.shape}")
        chosen = np.where(mask, a, self.right(s, mask.shape))
        self.locals[s["dst"]].set(chosen.astype(np.float32))

    def do_binary(self, s: dict[str, Any]) -> None:
        a = self.locals[s["a"]].get()
        b = self.right(s, a.shape)
        ops = {
            "add": np.add,
            "sub": np.subtract,
            "mul": np.multiply,
            "div": np.divide,
            "max": np.maximum,
            "min": np.minimum,
            "eq": np.equal,
            "ne": np.not_equal,
            "lt": np.less,
            "le": np.less_equal,
            "gt": np.greater,
            "ge": np.greater_equal,
        }
        self.locals[s["dst"]].set(ops[s["op"]](a, b).astype(np.float32))

    def do_row_reduce(self, s: dict[str, Any]) -> None:
        self.reduce(s, 1)

    def do_col_reduce(self, s: dict[str, Any]) -> None:
        self.reduce(s, 0)

    def reduce(self, s: dict[str, Any], axis: int) -> None:
        x = self.locals[s["src"]].get()
        if s["op"] in ("sum", "mean"):
            value = getattr(x.astype(np.float64), s["op"])(axis=axis, keepdims=True)
        elif s["op"] in ("argmax", "argmin"):
            value = getattr(np, s["op"])(x, axis=axis, keepdims=True)
        else:
            f, start = {"max": (np.max, -np.inf), "min": (np.min, np.inf)}[s["op"]]
            value = f(x, axis=axis, keepdims=True, initial=start)
        self.locals[s["dst"]].set(value.astype(np.float32))

    def do_cumsum(self, s: dict[str, Any]) -> None:
        self.locals[s["dst"]].set(self.locals[s["src"]].get().cumsum(axis=1, dtype=np.float32))

    def do_matmul(self, s: dict[str, Any]) -> None:
        a, b = self.locals[s["a"]].get(), self.locals[s["b"]].get()
        b = b.T if s["transpose_b"] else b
        k = min(a.shape[1], b.shape[0])
        value = a[:, :k].astype(np.float64) @ b[:k].astype(np.float64)
        dst = self.locals[s["dst"]]
        if s["accumulate"]:
            if dst.get().shape != value.shape:
                raise Trap(f"{value.shape} added to {dst.get().shape}")
            value = value + dst.get()
        dst.set(value.astype(np.float32))

    def do_transpose(self, s: dict[str, Any]) -> None:
        self.locals[s["dst"]].set(self.locals[s["src"]].get().T.copy())

    def do_mask(self, s: dict[str, Any]) -> None:
        tile = self.locals[s["tile"]]
        x = tile.get().copy()
        if "rows" in s:
            x[self.expr(s["rows"]) :] = self.expr(s["value"])
        if "cols" in s:
            x[:, self.expr(s["cols"]) :] = self.expr(s["value"])
        tile.set(x)

    def do_mask_causal(self, s: dict[str, Any]) -> None:
        tile = self.locals[s["tile"]]
        assert self.ty(s["cols"]) == "i32"
        x, first, value = tile.get().copy(), self.expr(s["cols"]), self.expr(s["value"])
        for r in range(x.shape[0]):
            x[r, max(first + r, 0) :] = value
        tile.set(x)

    def do_mask_band(self, s: dict[str, Any]) -> None:
        tile = self.locals[s["tile"]]
        assert self.ty(s["begin"]) == self.ty(s["end"]) == "i32" and self.ty(s["group"]) == "u32"
        begin, end, group = (self.expr(s[name]) for name in ("begin", "end", "group"))
        x, value = tile.get().copy(), self.expr(s["value"])
        for r in range(x.shape[0]):
            for c in range(x.shape[1]):
                shift = r // max(group, 1)
                if not begin + shift <= c < end + shift:
                    x[r, c] = value
        tile.set(x)

    def do_iota(self, s: dict[str, Any]) -> None:
        dst = self.locals[s["dst"]]
        assert self.ty(s["start"]) == "i32"
        cols = min(dst.cols, self.expr(s["cols"])) if "cols" in s else dst.cols
        row = self.expr(s["start"]) + np.arange(cols)
        dst.set(np.tile(row, (dst.rows, 1)).astype(np.float32))

    def do_gather(self, s: dict[str, Any]) -> None:
        src, at = self.locals[s["src"]].get(), self.locals[s["indices"]].get()
        assert len({s["dst"], s["src"], s["indices"]} - {s["dst"]}) == len({s["src"], s["indices"]})
        axis = 0 if s["by_row"] else 1
        whole = (at == np.floor(at)) & (at >= 0) & (at < src.shape[axis])
        if not whole.all() or at.shape[1 - axis] != src.shape[1 - axis]:
            raise Trap(f"indices of {src.shape}")
        self.locals[s["dst"]].set(np.take_along_axis(src, at.astype(np.int64), axis))

    def do_reshape(self, s: dict[str, Any]) -> None:
        dst, src = self.locals[s["dst"]], self.locals[s["src"]].get()
        rows = self.expr(s["rows"]) if "rows" in s else dst.rows
        cols = self.expr(s["cols"]) if "cols" in s else dst.cols
        if rows * cols != src.size:
            raise Trap(f"{src.shape} as {rows} x {cols}")
        dst.set(src.reshape(rows, cols).copy())

    def do_random(self, s: dict[str, Any]) -> None:
        dst = self.locals[s["dst"]]
        assert all(self.ty(s[name]) == "u32" for name in ("seed", "first", "pitch"))
        seed, first, pitch = (self.expr(s[name]) for name in ("seed", "first", "pitch"))
        rows = min(dst.rows, self.expr(s["rows"])) if "rows" in s else dst.rows
        cols = min(dst.cols, self.expr(s["cols"])) if "cols" in s else dst.cols
        value = [[uniform(seed, first + r * pitch + c) for c in range(cols)] for r in range(rows)]
        dst.set(np.array(value, np.float32).reshape(rows, cols))

    def do_insert(self, s: dict[str, Any]) -> None:
        dst, src = self.locals[s["dst"]], self.locals[s["src"]].get()
        assert s["dst"] != s["src"]
        row, col, x = self.expr(s["row"]), self.expr(s["col"]), dst.get().copy()
        if row + src.shape[0] > x.shape[0] or col + src.shape[1] > x.shape[1]:
            raise Trap(f"{src.shape} into {x.shape} at {row}, {col}")
        x[row : row + src.shape[0], col : col + src.shape[1]] = src
        dst.set(x)

    def do_extract(self, s: dict[str, Any]) -> None:
        dst, src = self.locals[s["dst"]], self.locals[s["src"]].get()
        assert s["dst"] != s["src"]
        row, col = self.expr(s["row"]), self.expr(s["col"])
        dst.set(src[row : row + dst.rows, col : col + dst.cols].copy())

    def do_top_k(self, s: dict[str, Any]) -> None:
        values, indices, src = (self.locals[s[n]] for n in ("values", "indices", "src"))
        assert len({s["values"], s["indices"], s["src"]}) == 3 and values.elem == indices.elem == "f32"
        v, i, x, first = values.get(), indices.get(), src.get(), self.expr(s["first"])
        if not v.shape == i.shape or v.shape[0] != x.shape[0]:
            raise Trap("lists")
        out_v, out_i = [], []
        for r in range(x.shape[0]):
            items = [(-a, b) for a, b in zip(v[r].tolist(), i[r].tolist(), strict=False)]
            row = np.where(np.isnan(x[r]), -np.inf, x[r]).tolist()
            items += [(-e, float(first + c)) for c, e in enumerate(row)]
            items = sorted(items)[: values.cols]
            out_v.append([-a for a, _ in items])
            out_i.append([b for _, b in items])
        values.set(np.array(out_v, np.float32))
        indices.set(np.array(out_i, np.float32))

    # Expressions

    def ty(self, x: dict[str, Any]) -> str:
        if x["k"] in ("field", "array_len", "tile_rows", "tile_cols"):
            return "u32"
        if x["k"] in ("load_scalar", "tile_max", "tile_sum"):
            return "f32"
        return "bool" if x["k"] == "bool" else x["ty"]

    def fit(self, value: Any, ty: str) -> Any:
        if ty == "f32":
            return float(np.float32(value))
        if ty in RANGES:
            lo, hi = RANGES[ty]
            if not lo <= value <= hi:
                raise Trap(f"{value} does not fit {ty}")
        return value

    def expr(self, x: dict[str, Any]) -> Any:
        k = x["k"]
        if k in ("int", "bool"):
            return self.fit(x["v"], self.ty(x)) if k == "int" else x["v"]
        if k == "float":
            value = float(x["v"])
            assert x["ty"] == "f64" or math.isnan(value) or value == float(np.float32(value)), x
            return value
        if k == "local":
            assert self.tys[x["id"]] == x["ty"], x
            return self.locals[x["id"]]
        if k == "field":
            return self.fields[x["id"]]
        if k == "cast":
            return self.cast(self.expr(x["a"]), x["ty"])
        if k == "select":
            assert self.ty(x["a"]) == self.ty(x["b"]) == x["ty"]
            return self.expr(x["a"] if self.expr(x["c"]) else x["b"])
        if k == "chain":
            value, ty = self.expr(x["of"][0]), x["ty"]
            for op, operand in zip(x["ops"], x["of"][1:], strict=True):
                assert self.ty(operand) == ty
                value = self.operation(op, ty, value, self.expr(operand))
            return value
        if k == "math":
            a = np.float32(self.expr(x["a"]))
            return float(getattr(np, x["f"])(a))
        if k in ("neg", "not"):
            return not self.expr(x["a"]) if k == "not" else self.fit(-self.expr(x["a"]), x["ty"])
        if k in ("and", "or"):
            a = self.expr(x["a"])
            return self.expr(x["b"]) if a == (k == "and") else a
        if k == "load":
            array = self.arrays[x["tensor"]]
            assert array.ndim == 1
            i = self.expr(x["index"])
            if not 0 <= i < len(array):
                raise Trap(f"index {i} of {len(array)}")
            return int(array[i])
        if k == "load_scalar":
            return float(np.float32(self.arrays[x["tensor"]][self.index(x)]))
        if k in ("tile_rows", "tile_cols"):
            return self.locals[x["tile"]].get().shape[0 if k == "tile_rows" else 1]
        if k == "tile_max":
            tile = self.locals[x["tile"]].get()
            assert tile.shape[0] <= 1
            return float(tile.max(initial=-np.inf))
        if k == "tile_sum":
            return float(np.float32(self.locals[x["tile"]].get().astype(np.float64).sum()))
        return self.binary(x)

    def cast(self, value: Any, ty: str) -> Any:
        if ty in RANGES:
            if isinstance(value, float) and not math.isfinite(value):
                raise Trap(f"{value} as {ty}")
            return self.fit(math.trunc(value), ty)
        return self.fit(float(value), ty)

    def binary(self, x: dict[str, Any]) -> Any:
        k, ty = x["k"], self.ty(x["a"])
        assert ty == self.ty(x["b"]), x
        a, b = self.expr(x["a"]), self.expr(x["b"])
        if k in ("lt", "le", "gt", "ge", "eq", "ne"):
            assert x["ty"] == "bool"
            return {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b, "eq": a == b, "ne": a != b}[k]
        assert x["ty"] == ty
        return self.operation(k, ty, a, b)

    def operation(self, k: str, ty: str, a: Any, b: Any) -> Any:
        """`a k b` of one type, which is that of the result."""
        if k in ("div", "rem", "ceildiv") and ty in RANGES:
            if b == 0:
                raise Trap("division by zero")
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return self.fit({"div": quotient, "rem": a - quotient * b, "ceildiv": -(-a // b)}[k], ty)
        if k == "div":
            with np.errstate(all="ignore"):
                return self.fit(float(np.float64(a) / np.float64(b)), ty)
        ops = {
            "add": lambda: a + b,
            "sub": lambda: a - b,
            "mul": lambda: a * b,
            "min": lambda: min(a, b),
            "max": lambda: max(a, b),
            "bitand": lambda: a & b,
            "bitor": lambda: a | b,
            "bitxor": lambda: a ^ b,
            "shl": lambda: a << b,
            "shr": lambda: a >> b,
        }
        return self.fit(ops[k](), ty)


DTYPE = {np.dtype(t): n for n, t in NUMPY.items()} | {
    np.dtype(t): n
    for n, t in {
        "u8": np.uint8,
        "u16": np.uint16,
        "i32": np.int32,
        "u32": np.uint32,
        "i64": np.int64,
        "u64": np.uint64,
    }.items()
}


Extents = dict[str, tuple[int | None, ...]]


def specialise(kernel: Any, arguments: dict[str, Any], most: Extents, known: Extents, coords: int = 0) -> Any:
    """The kernel for these arguments. `most` has bounds for views whose extents are not to be known,
    `known` those that are.
    """
    args: list[Any] = []
    for param in kernel.signature:
        value = arguments.get(param.name, param.default)
        if param.kind == "scalar":
            args.append(ScalarArg())
        elif param.kind == "constexpr":
            args.append(ConstexprArg(value))
        else:
            bound = most.get(param.name)
            keep = tuple(range(value.ndim))
            extents = value.shape if bound is None else known.get(param.name, (None,) * value.ndim)
            args.append(ViewSpec(DTYPE[value.dtype], keep, extents, bound or value.shape))
    return kernel.specialise(coords, args, None)


def run(
    kernel: Any,
    *,
    coords: tuple[int, ...] = (),
    most: Extents | None = None,
    known: Extents | None = None,
    **arguments: Any,
) -> dict[str, np.ndarray]:
    """Runs a kernel once, on the interpreter and on the CPU backend, and compares what they stored; arrays
    change in place. Gives the arrays of the CPU backend.
    """
    made = specialise(kernel, arguments, most or {}, known or {}, len(coords))
    spans = Spans()
    body = made.body(spans)
    tensors = [p.name for p in kernel.signature if p.kind in ("in", "out", "inout")]
    scalars = [*coords, *(arguments.get(p.name, p.default) for p in kernel.signature if p.kind == "scalar")]
    document = trace(kernel, made, body, spans, {n: arguments[n] for n in tensors}, scalars)
    _core.kernel_text(document, 0)
    before = {n: arguments[n].copy() for n in tensors}
    Machine(body, [arguments[n] for n in tensors], scalars).run()
    _core.compile(document).execute(before)
    for name in tensors:
        close(before[name], arguments[name], name)
    return before


def close(have: np.ndarray, want: np.ndarray, name: str) -> None:
    """The backend and the interpreter agree but for the order of sums."""
    if have.dtype.kind in "iu":
        assert (have == want).all(), name
        return
    tolerance = {2: 2e-2, 4: 2e-4, 8: 2e-4}[have.dtype.itemsize]
    a, b = have.astype(np.float64), want.astype(np.float64)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"`{name}` on the CPU backend")


def trace(
    kernel: Any,
    made: Any,
    body: dict[str, Any],
    spans: Spans,
    arrays: dict[str, np.ndarray],
    scalars: list[int],
) -> bytes:
    """A document of one task."""
    args: list[dict[str, Any]] = []
    numbers, tensors = iter(scalars), iter(range(len(arrays)))
    for _, kind in made.params:
        if kind == "scalar":
            args.append({"scalar": next(numbers)})
        else:
            t = next(tensors)
            rank = list(arrays.values())[t].ndim
            args.append({"tensor": t, "ranges": [{"k": "whole"}] * rank})
    document = {
        "format": "pto-wsp-trace",
        "version": 1,
        "files": [{"name": f, "text": ""} for f in spans.files],
        "spans": spans.spans,
        "workload": {
            "tensors": [
                {"name": n, "dtype": DTYPE[a.dtype], "dims": list(a.shape), "storage": "argument"}
                for n, a in arrays.items()
            ],
            "kernels": [
                {
                    "name": kernel.name,
                    "unit": made.unit,
                    "params": [{"name": n, "kind": k} for n, k in made.params],
                }
            ],
            "workloads": [
                {
                    "name": "main",
                    "params": 0,
                    "vars": [],
                    "labels": [],
                    "channels": [],
                    "body": [{"k": "task", "kernel": 0, "args": args, "after": []}],
                }
            ],
        },
        "kernels": [body],
    }
    return json.dumps(document, allow_nan=False).encode()
