"""Shared by all tests of the Python package."""

from __future__ import annotations

import pytest

import pto_wsp


@pytest.fixture
def errors():
    """The module of error classes."""
    return pto_wsp.errors
