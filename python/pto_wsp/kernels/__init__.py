"""Kernels: functions that are compiled from their syntax trees, and Python functions that run as they are."""

from __future__ import annotations

from .annotations import Constexpr, In, InOut, Out, Scalar, Tile
from .kernel import BaseKernel, Kernel, PythonKernel, kernel, python_kernel

__all__ = [
    "BaseKernel",
    "Constexpr",
    "In",
    "InOut",
    "Kernel",
    "Out",
    "PythonKernel",
    "Scalar",
    "Tile",
    "kernel",
    "python_kernel",
]
