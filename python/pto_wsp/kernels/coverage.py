"""Which parts of its `Out` regions a kernel stores to, where that is known when it is compiled."""

from __future__ import annotations

from itertools import product

from .values import Const, TileVal, ViewDim, ViewParam, ViewVal

Region = tuple[tuple[int, int], ...]
"""First index and one past the last, per dimension of a parameter."""

_MOST_CELLS = 4096


class Coverage:
    """The stores of a kernel, by the number of their parameter."""

    def __init__(self) -> None:
        self._regions: dict[int, list[Region | None]] = {}

    def add(self, view: ViewVal, dims: tuple[ViewDim | None, ViewDim | None], value: TileVal | None) -> None:
        """A store of a tile along these dimensions of a view, or, without a tile, of one element."""
        region: dict[int, tuple[int, int] | None] = {
            axis: (at.value, at.value + 1) if isinstance(at, Const) else None for axis, at in view.fixed
        }
        for dim in view.dims:
            # A tile that is not full stores no more than its room.
            extent = 1
            for number, along in enumerate(dims):
                if along is not None and along.axis == dim.axis and value is not None:
                    extent = value.shape[number]
            known = isinstance(dim.start, Const)
            region[dim.axis] = (dim.start.value, dim.start.value + extent) if known else None
        parts = [region[axis] for axis in sorted(region)]
        whole = tuple(part for part in parts if part is not None)
        self._regions.setdefault(view.view, []).append(whole if len(whole) == len(parts) else None)

    def stores_to(self, param: ViewParam) -> bool:
        """Whether there is a store to a parameter at all."""
        return param.index in self._regions

    def missing(self, param: ViewParam) -> tuple[int, int] | None:
        """How many elements of a parameter no store reaches, and how many it has, or may have where an extent
        is bounded only; None where that is not known, or none is missing.
        """
        regions = self._regions.get(param.index, [])
        bounds = zip(param.extents, param.most, strict=True)
        extents = [most if known is None else known for known, most in bounds]
        known = [region for region in regions if region is not None and len(region) == len(extents)]
        if len(known) < len(regions) or any(extent is None for extent in extents):
            return None
        cuts = [
            sorted({0, extent or 0, *(min(end, extent or 0) for region in known for end in region[axis])})
            for axis, extent in enumerate(extents)
        ]
        cells = [list(zip(each, each[1:], strict=False)) for each in cuts]
        total, count = 1, 1
        for each, extent in zip(cells, extents, strict=True):
            total, count = total * (extent or 0), count * len(each)
        if count * len(known) > _MOST_CELLS:
            return None
        left = 0
        for cell in product(*cells):
            if not any(_within(cell, region) for region in known):
                size = 1
                for lo, hi in cell:
                    size *= hi - lo
                left += size
        return (left, total) if left else None


def _within(cell: tuple[tuple[int, int], ...], region: Region) -> bool:
    return all(lo <= low and high <= hi for (low, high), (lo, hi) in zip(cell, region, strict=True))
