"""The codes of what can be wrong with the source of a kernel, and how such an error is made."""

from __future__ import annotations

from collections.abc import Iterable

from .. import errors
from .._seam import Span

NO_SOURCE = 1100
NOT_A_FUNCTION = 1101
NO_ANNOTATION = 1102
BAD_ANNOTATION = 1103
PARAMETER_FORM = 1104
BAD_DEFAULT = 1105
BAD_OPTION = 1106
STATEMENT = 1107
EXPRESSION = 1108
UNKNOWN_NAME = 1109
UNKNOWN_FUNCTION = 1110
UNKNOWN_ATTRIBUTE = 1111
NOT_CALLABLE = 1112
ARGUMENTS = 1113
UNASSIGNED = 1114
TYPE_CHANGE = 1115
DIFFERS = 1116
SHAPES = 1117
SHAPE_CONSTANT = 1118
SHAPE_MISSING = 1119
STORE_TO_IN = 1120
LOAD_FROM_OUT = 1121
INDEX_TYPE = 1122
INDEX_FORM = 1123
CONDITION = 1124
OPERAND = 1125
RANGE = 1126
RECURSION = 1127
RETURN = 1128
UNUSED = 1129
ELEMENTS = 1130
ARGUMENT_VIEW = 1131
COORDINATE = 1132
OUTSIDE = 1133
COMPILE_TIME = 1134
ASSERTION = 1135
TOO_LARGE = 1136
LOOP = 1137
CHANGED = 1138
METHOD = 1139
NEVER_STORED = 1140


def kernel_error(
    code: int,
    message: str,
    span: Span | None,
    *,
    label: str = "",
    labels: Iterable[tuple[Span, str]] = (),
    notes: Iterable[str] = (),
    help: Iterable[str] | str = (),
) -> errors.WspError:
    """A `KernelError` of this package's own."""
    return errors.make(
        errors.KernelError, code, message, span=span, label=label, labels=labels, notes=notes, help=help
    )
