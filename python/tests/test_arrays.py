"""Arrays of callers: found by their protocols, used in place, given back, refused with what to write."""

from __future__ import annotations

import array
import ctypes
import gc
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copying import PARALLEL, SEQUENTIAL, copy, pair, program
from pto_wsp import errors
from pto_wsp._arrays import to_memoryview, to_numpy, view


@pytest.mark.parametrize("options", [SEQUENTIAL, PARALLEL])
@pytest.mark.parametrize(
    ("dtype", "code"),
    [("f32", "f4"), ("f64", "f8"), ("f16", "f2"), ("u8", "u1"), ("u16", "u2"), ("i32", "i4"), ("u32", "u4")]
    + [("i64", "i8"), ("u64", "u8")],
)
def test_numpy_arrays_of_every_type_are_used_in_place(dtype: str, code: str, options: dict[str, Any]) -> None:
    x, y = pair(code)
    seen = []

    def kernel(views: Any, scalars: Any) -> None:
        seen.append([(v.address, v.dtype, v.shape, v.readonly) for v in views])
        copy(views, scalars)

    program(kernel, dtype=dtype).execute({"x": x, "y": y}, options)
    assert (x == y).all()
    row = x.strides[0]
    expected = [
        [(x.ctypes.data + i * row, dtype, (1, 4), True), (y.ctypes.data + i * row, dtype, (1, 4), False)]
        for i in range(3)
    ]
    assert sorted(seen) == expected


def test_bf16_of_ml_dtypes_is_used_in_place() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x, y = pair(ml_dtypes.bfloat16)

    def kernel(views: Any, scalars: Any) -> None:
        a, b = map(to_numpy, views)
        assert a.dtype == ml_dtypes.bfloat16 and not a.flags.writeable
        b[...] = a + a

    program(kernel, dtype="bf16").execute({"x": x, "y": y})
    assert (y.astype("f4") == 2 * x.astype("f4")).all()


def test_strided_transposed_and_broadcast_arrays_are_used_as_they_are() -> None:
    x = np.arange(12, dtype="f4").reshape(4, 3).T
    y = np.zeros((3, 8), "f4")[:, ::2]
    assert (x.strides, y.strides) == ((4, 12), (32, 8))
    program(copy).execute({"x": x, "y": y})
    assert (y == x).all()
    row = np.broadcast_to(np.arange(4, dtype="f4"), (3, 4))
    program(copy).execute({"x": row, "y": y})
    assert (y == row).all()


def test_memoryviews_bytearrays_and_arrays_of_the_standard_library_are_used_in_place() -> None:
    x = array.array("f", range(12))
    y = bytearray(48)
    rows = {"x": memoryview(x).cast("B").cast("f", [3, 4]), "y": memoryview(y).cast("f", [3, 4])}
    program(copy).execute(rows)
    assert array.array("f", bytes(y)) == x
    with pytest.raises(errors.ArgumentError) as refused:
        program(copy).execute({**rows, "x": array.array("f", range(12))})
    assert refused.value.code == "WSP1253"


def test_numpy_hands_over_by_dlpack() -> None:
    class Only:
        """An array that knows DLPack only."""

        def __init__(self, array: Any, **versions: Any) -> None:
            self.array, self.versions, self.calls = array, versions, 0

        def __dlpack__(self, **given: Any) -> Any:
            self.calls += 1
            return self.array.__dlpack__(**{**given, **self.versions})

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    class Old(Only):
        """One that knows no versions."""

        def __dlpack__(self) -> Any:
            return self.array.__dlpack__()

    for kind in (Only, Old):
        x, y = pair()
        before = sys.getrefcount(x), sys.getrefcount(y)
        for options in (SEQUENTIAL, PARALLEL):
            y[...] = 0
            program(copy).execute({"x": kind(x), "y": kind(y)}, options)
            assert (x == y).all()
        gc.collect()
        assert (sys.getrefcount(x), sys.getrefcount(y)) == before


def test_a_tensor_whose_elements_are_negated_when_they_are_read_is_refused() -> None:
    class Negated:
        """As the imaginary part of a conjugate in PyTorch: its memory has the other sign."""

        def __init__(self, array: Any, negated: bool) -> None:
            self.array, self.negated = array, negated

        def is_neg(self) -> bool:
            return self.negated

        def __dlpack__(self, **given: Any) -> Any:
            return self.array.__dlpack__(**given)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    x, y = pair()
    program(copy).execute({"x": Negated(x, False), "y": y})
    assert (x == y).all()
    with pytest.raises(errors.ArgumentError) as refused:
        program(copy).execute({"x": Negated(x, True), "y": y})
    assert refused.value.code == "WSP1258"
    assert refused.value.help == ["compute them: `x.resolve_neg()`"]


def test_a_read_only_array_handed_over_by_dlpack_is_no_output() -> None:
    class Only:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, **given: Any) -> Any:
            return self.array.__dlpack__(**given)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    x, y = pair()
    y.flags.writeable = False
    program(copy).execute({"x": Only(x), "y": np.zeros_like(x)})
    with pytest.raises(errors.ArgumentError) as refused:
        program(copy).execute({"x": x, "y": Only(y)})
    assert refused.value.code == "WSP1255"


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]


class Counting:
    """A producer that counts how often its tensors are deleted; device and type are as asked for."""

    def __init__(
        self, array: Any, device: int = 1, code: int = 2, bits: int = 32, said: int | None = None
    ) -> None:
        self.array, self.deleted, self.device = array, 0, device if said is None else said
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        deleter = _DELETER(self.delete)
        pointer = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        # Row-major without strides, and 16 bytes before the data that the offset leads over.
        tensor = _Tensor(array.ctypes.data - 16, device, 0, array.ndim, code, bits, 1, pointer, None, 16)
        self.managed = _Managed(tensor, None, deleter)

    def delete(self, _: Any) -> None:
        self.deleted += 1

    def __dlpack__(self) -> Any:
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.managed), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)


@pytest.mark.parametrize("options", [SEQUENTIAL, PARALLEL])
def test_a_tensor_handed_over_is_deleted_once_when_the_run_is_over(options: dict[str, Any]) -> None:
    x, y = pair()
    counting = Counting(x)
    program(copy).execute({"x": counting, "y": y}, options)
    assert (x == y).all()
    assert counting.deleted == 1


def test_a_tensor_that_is_refused_is_deleted_once() -> None:
    x, y = pair()
    for counting, code in [
        (Counting(x, code=5, bits=64), "WSP1251"),
        (Counting(x, code=2, bits=64), "WSP1252"),
        (Counting(x, device=2, said=1), "WSP1257"),
    ]:
        with pytest.raises(errors.ArgumentError) as refused:
            program(copy).execute({"x": counting, "y": y})
        assert refused.value.code == code
        gc.collect()
        assert counting.deleted == 1


def test_bf16_is_handed_over_by_dlpack() -> None:
    x, y = pair("u2")
    handed = {"x": Counting(x, code=4, bits=16), "y": Counting(y, code=4, bits=16)}
    program(copy, dtype="bf16").execute(handed)
    assert (x == y).all()


def test_an_array_on_a_device_is_refused_before_it_is_handed_over() -> None:
    x, y = pair()
    counting = Counting(x, device=2)
    with pytest.raises(errors.ArgumentError, match=r"`x` lies in the memory of a CUDA device") as refused:
        program(copy).execute({"x": counting, "y": y})
    assert refused.value.help == ["copy it to main memory: `x.cpu()`"]
    assert counting.deleted == 0


def test_a_tensor_of_torch_is_used_in_place() -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.arange(12, dtype=torch.float32).reshape(3, 4), torch.zeros(3, 4)
    seen = set()

    def kernel(views: Any, scalars: Any) -> None:
        seen.add((views[0].address - 16 * scalars[0], views[1].address - 16 * scalars[0]))
        copy(views, scalars)

    program(kernel).execute({"x": x, "y": y})
    assert seen == {(x.data_ptr(), y.data_ptr())}
    assert torch.equal(x, y)
    with pytest.raises(errors.ArgumentError) as refused:
        program(copy).execute({"x": x.requires_grad_(), "y": y})
    assert "detach" in refused.value.help[0]


REFUSED = {
    "a list": (lambda x: x.tolist(), "WSP1250", "np.asarray"),
    "a number": (lambda x: 1.0, "WSP1250", "np.asarray"),
    "another object": (lambda x: object(), "WSP1250", "__dlpack__"),
    "complex numbers": (lambda x: x.astype("c8"), "WSP1251", "astype"),
    "signed bytes": (lambda x: x.astype("i1"), "WSP1252", "astype"),
    "objects": (lambda x: x.astype(object), "WSP1251", "astype"),
    "masked elements": (lambda x: np.ma.masked_less(x, 2), "WSP1258", "x.filled(0)"),
    "another type": (lambda x: x.astype("f8"), "WSP1252", "astype(np.float32)"),
    "the other byte order": (lambda x: x.astype(">f4"), "WSP1256", "newbyteorder"),
    "another rank": (lambda x: x[0], "WSP1253", ""),
    "another extent": (lambda x: x[:, :3], "WSP1253", "[3, 4]"),
    "reversed rows": (lambda x: x[::-1], "WSP1254", "ascontiguousarray"),
    "uneven strides": (
        lambda x: np.ndarray((3, 4), "f4", np.zeros(100, "u1"), strides=(18, 4)),
        "WSP1254",
        "ascontiguousarray",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_used_says_why_and_what_to_write(what: str) -> None:
    change, code, help = REFUSED[what]
    x, y = pair()
    with pytest.raises(errors.ArgumentError) as refused:
        program(copy).execute({"x": change(x), "y": y})
    assert refused.value.code == code
    assert "`x`" in refused.value.message
    assert help in " ".join(refused.value.help)
    assert isinstance(refused.value, TypeError) and isinstance(refused.value, ValueError)


def test_an_array_with_a_mask_and_no_masked_element_is_used_where_it_lies() -> None:
    x, y = pair()
    for mask in (np.ma.nomask, np.zeros(x.shape, bool)):
        masked = np.ma.array(np.zeros_like(y), mask=mask)
        program(copy).execute({"x": np.ma.array(x, mask=mask), "y": masked})
        assert np.array_equal(masked.data, x) and not np.ma.is_masked(masked)


def test_masked_elements_are_counted_for_an_error_alone() -> None:
    class Mask:
        def any(self) -> bool:
            return False

    class Masked(np.ndarray[Any, Any]):
        mask = Mask()

        def filled(self) -> None: ...

    x, y = pair()
    program(copy).execute({"x": x.view(Masked), "y": y})
    assert np.array_equal(x, y)


def test_how_many_elements_are_masked_is_said() -> None:
    x, y = pair()
    with pytest.raises(errors.ArgumentError) as refused:
        program(copy).execute({"x": np.ma.masked_less(x, x.flat[2]), "y": y})
    assert "has 2 masked elements" in refused.value.message


def test_a_read_only_output_is_refused() -> None:
    x, y = pair()
    y.flags.writeable = False
    with pytest.raises(errors.ArgumentError) as refused:
        program(copy).execute({"x": x, "y": y})
    assert (refused.value.code, refused.value.help) == (
        "WSP1255",
        ["give an array of your own: `y = np.array(y)`"],
    )
    with pytest.raises(errors.ArgumentError):
        program(copy).execute({"x": x, "y": memoryview(bytes(48)).cast("f", [3, 4])})


def test_arrays_that_share_memory_are_refused() -> None:
    x, _ = pair()
    with pytest.raises(errors.ArgumentError, match="share memory"):
        program(copy).execute({"x": x, "y": x})


def test_names_are_checked() -> None:
    x, y = pair()
    for given, code, help in [
        ({"x": x}, "WSP1259", "give it by name: `y=…`, f32[n, 4]"),
        ({"x": x, "Y": y}, "WSP1260", "did you mean `y`?"),
        ({"x": x, "y": y, "n": 4}, "WSP1261", "leave `n` out, which follows from `x`, or give `n=3`"),
        ({"x": x, "y": y[:2]}, "WSP1261", "give arrays that agree on `n`"),
        ({"x": x, "y": y, "n": "3"}, "WSP1262", "give an integer: `n=128`; the value given is of type `str`"),
    ]:
        with pytest.raises(errors.ArgumentError) as refused:
            program(copy).execute(given)
        assert (refused.value.code, refused.value.help) == (code, [help])


def test_sizes_follow_from_shapes_and_none_is_not_given() -> None:
    x, y = pair(rows=5)
    assert program(copy).execute({"x": x, "y": y, "n": None}).details()["params"] == {"n": 5}
    assert program(copy).execute({"x": x, "y": y, "n": np.int32(5)}).tasks == 5
    empty, nothing = pair(rows=0)
    assert program(copy).execute({"x": empty, "y": nothing}).tasks == 0


@pytest.mark.parametrize("options", [SEQUENTIAL, PARALLEL])
def test_references_return_to_what_they_were(options: dict[str, Any]) -> None:
    x, y = pair()
    rows = memoryview(bytearray(48)).cast("f", [3, 4])
    compiled = program(copy)
    before = sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(rows)
    for _ in range(3):
        compiled.execute({"x": x, "y": y}, options)
        compiled.execute({"x": rows, "y": y}, options)
        compiled.prepare({"x": x, "y": y}, options)()
        with pytest.raises(errors.ArgumentError):
            compiled.execute({"x": x, "y": y, "n": 7}, options)
    gc.collect()
    assert (sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(rows)) == before
    rows.release()


def test_arrays_live_as_long_as_the_run_that_uses_them() -> None:
    go, started = threading.Event(), threading.Event()

    class Watched(np.ndarray):  # type: ignore[misc]
        pass

    gone = threading.Event()
    x = pair()[0].view(Watched)
    y = np.zeros((3, 4), "f4")
    weakref.finalize(x, gone.set)

    def kernel(views: Any, scalars: Any) -> None:
        started.set()
        go.wait()
        copy(views, scalars)

    run = program(kernel).start({"x": x, "y": y}, PARALLEL)
    started.wait()
    del x
    gc.collect()
    assert not gone.is_set() and not run.done()
    go.set()
    assert run.wait().tasks == 3
    gc.collect()
    assert gone.is_set()
    assert (y == np.arange(12).reshape(3, 4)).all()


def test_an_array_that_a_kernel_keeps_stays_valid() -> None:
    kept = []

    def kernel(views: Any, scalars: Any) -> None:
        kept.append(to_numpy(views[0]))

    x = np.full((3, 4), 7, "f4")
    program(kernel).execute({"x": x, "y": np.zeros_like(x)})
    del x
    gc.collect()
    assert all((a == 7).all() for a in kept)


def test_inputs_cannot_be_written_by_a_kernel() -> None:
    def kernel(views: Any, scalars: Any) -> None:
        to_numpy(views[0])[...] = 1

    x, y = pair()
    with pytest.raises(errors.KernelError) as failed:
        program(kernel).execute({"x": x, "y": y})
    assert isinstance(failed.value.__cause__, ValueError)
    assert failed.value.code == "WSP0856"


def test_memoryviews_show_the_same_memory() -> None:
    def kernel(views: Any, scalars: Any) -> None:
        x, y = map(to_memoryview, views)
        assert (x.format, x.shape, x.readonly, y.readonly) == ("f", (1, 4), True, False)
        y.cast("B")[:] = x.cast("B")

    x, y = pair()
    program(kernel).execute({"x": x, "y": y})
    assert (x == y).all()
    columns = np.zeros((3, 8), "f4")[:, ::2]
    with pytest.raises(errors.KernelError) as failed:
        program(kernel).execute({"x": columns, "y": y})
    assert isinstance(failed.value.__cause__, BufferError)


def test_views_are_arrays_of_numpy_where_it_is_installed() -> None:
    kinds = []
    x, y = pair(rows=1)
    program(lambda views, scalars: kinds.extend(map(type, map(view, views)))).execute({"x": x, "y": y})
    assert kinds == [np.ndarray, np.ndarray]


def test_arrays_that_emitted_packages_write_on_a_host_are_read_by_numpy() -> None:
    arrays = np.load(Path(__file__).parents[2] / "testdata/arrays/host.npz")
    # numpy does not read this type, which ml_dtypes writes.
    names = [name for name in arrays.files if name != "x.f8e5m2"]
    assert len(names) == 16
    for name in names:
        made = arrays[name]
        if name.startswith("x."):
            assert (made.shape, made.tobytes()) == ((2, 3), bytes(range(6 * made.itemsize)))
            # Types that numpy does not have are written as their bits.
            kind = {"x.bool": "b", "x.bf16": "u", "x.f8e4m3": "u"}.get(name, name[2])
            assert made.dtype.kind == kind
    assert (arrays["scalar"].shape, arrays["empty"].shape) == ((), (0, 7))
