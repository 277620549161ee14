"""The tile operations of `pto`: a function each, and what the compiler of kernels has to know of it.

Written from the table `TILE_OPS` of the crate `wsp-ir`: `cargo xtask bless` writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeVar

from .dtypes import f32

if TYPE_CHECKING:
    from ._static import DType, Tile, View

    Number = int | float
    Value = TypeVar("Value", Tile, int, float)


class Form(NamedTuple):
    """An operation as traces spell it."""

    word: str
    """Its form."""
    op: str | None
    """Which operation of the form, where it has several."""
    numbers: tuple[tuple[str, str], ...]
    """Fields that are numbers, and their types."""


def outside(name: str) -> NoReturn:
    """Raises what a function of kernels raises elsewhere."""
    from . import _seam
    from .kernels import codes

    raise codes.kernel_error(
        codes.OUTSIDE,
        f"`pto.{name}` stands in kernels only",
        _seam.caller_span(),
        help="call it in a function with `@kernel`; in a `@python_kernel` use NumPy",
    )

