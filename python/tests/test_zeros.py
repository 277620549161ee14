"""A 0 of floats has the sign that it is written with."""

from __future__ import annotations

import numpy as np
import pytest
from pto_wsp import Out, kernel, pto, tensor, workload
from pto_wsp.dtypes import dtype_of


@kernel
def fills(y: Out):
    pto.store(y, pto.full((1, 4), -0.0))


@kernel
def masks(y: Out):
    pto.store(y, pto.mask(pto.full((1, 4), 1.0), cols=2, value=-0.0))


@pytest.mark.parametrize("k", [fills, masks], ids=["full", "mask"])
@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_a_negative_zero_keeps_its_sign(k, name):
    y = tensor((1, 4), dtype_of(np.dtype(name)), name="y")

    @workload
    def one():
        k(y)

    got = np.ones((1, 4), name)
    one().compile().execute(y=got)
    assert np.signbit(got[0, 2:]).all()
    assert not got[0, 2:].any()
