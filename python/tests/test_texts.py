"""Texts of files that change after their import, annotations that are text, and methods."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.machinery
import importlib.util
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from pto_wsp import Constexpr, InOut, P, Tensor, errors, f32, kernel, pto, tensor, workload
from pto_wsp.kernels import codes

if TYPE_CHECKING:
    import pto_wsp as wsp
    from pto_wsp import In, Out, Table, i64
    from pto_wsp import Tensor as Array

MODULE = """from pto_wsp import *
X = tensor(("n", 4), f32)

def helper(t):
    return t + 1.0

@kernel
def inc(x: InOut): pto.store(x, helper(pto.load(x)))

@workload
def w(n):
    for i in P(n): inc[i](X[i])
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes and imports a module; gives its file and a function that does."""
    file = tmp_path / "a_module_of_a_test.py"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def imported(text):
        file.write_text(text)
        importlib.invalidate_caches()
        sys.modules.pop(file.stem, None)
        return importlib.import_module(file.stem)

    yield file, imported
    sys.modules.pop(file.stem, None)


def ran(w) -> float:
    x = np.zeros((3, 4), np.float32)
    w.compile().execute(X=x)
    return float(x[2, 3])


def test_a_file_that_is_edited_is_used_as_it_was_imported(module):
    file, imported = module
    made = imported(MODULE)
    for text in (
        "# a\n# b\n" + MODULE,
        MODULE.replace("t + 1.0", "t + 7.0"),
        MODULE.replace("inc[i]", "inc[0]"),
        "",
    ):
        file.write_text(text)
        assert ran(made.w) == 1.0
    file.unlink()
    assert ran(made.w) == 1.0


def test_a_module_that_is_imported_again_is_used_as_it_is_then_and_the_old_one_as_it_was(module):
    _, imported = module
    old = imported(MODULE)
    assert ran(old.w) == 1.0
    text = MODULE.replace("t + 1.0", "t + 5.0").replace(
        "for i in P(n): inc[i](X[i])", "for j in P(n):\n        inc[j](X[j])"
    )
    new = imported("# one line\n" + text)
    assert (ran(new.w), ran(old.w)) == (5.0, 1.0)


def test_a_helper_of_a_file_that_changed_before_it_was_read_is_an_error(module):
    file, imported = module
    made = imported("def helper(t):\n    return t * 2.0\n")
    file.write_text("def helper(t):\n    return t * 3.0\n")

    @kernel
    def scaled(x: InOut):
        pto.store(x, made.helper(pto.load(x)))

    @workload
    def w(x: Tensor[f32, 1, 4]):
        scaled(x)

    with pytest.raises(errors.KernelError) as changed:
        w.compile()
    assert changed.value.code == f"WSP{codes.CHANGED}" and "helper" in changed.value.message
    file.write_text("def helper(t):\n    return t * 2.0\n")
    x = np.ones((1, 4), np.float32)
    w.compile().execute(x=x)
    assert x[0, 0] == 2.0


def test_loops_of_a_file_that_changed_before_it_was_read_are_an_error(module):
    file, imported = module
    made = imported("def rows(P, k, x, n):\n    for i in P(n):\n        k[i](x[i])\n")
    file.write_text("# a line\ndef rows(P, k, x, n):\n    for i in P(n):\n        k[i](x[0])\n")

    @kernel
    def inc(x: InOut):
        pto.store(x, pto.load(x) + 1.0)

    @workload
    def w(n, x: Tensor[f32, "n", 4]):
        made.rows(P, inc, x, n)

    with pytest.raises(errors.TraceError) as changed:
        w.compile()
    assert changed.value.code == "WSP1048" and "rows" in changed.value.message


def outer(depth):
    def inner():
        rows = 4

        @kernel
        def k(x: In[Tensor[f32, rows, depth]], y: "Out[Tensor[f32, None, depth]]"):
            pto.store(y, pto.load(x, shape=(4, depth)))

        @workload
        def w(
            x: Array[f32, "n", depth],
            y: wsp.Tensor[f32, "n", depth],
            ids: "Table[i64, 'n']",
            c: Constexpr = 1,
        ):
            for i in P(ids.size // rows):
                k[i](x[4 * i : 4 * i + 4], y[4 * i : 4 * i + 4])

        return w

    return inner()


def test_annotations_name_what_stands_around_and_what_is_imported_for_checkers():
    x = np.random.default_rng(1).standard_normal((8, 6), np.float32)
    y = np.zeros_like(x)
    outer(6).compile().execute(x=x, y=y, ids=range(8))
    assert (x == y).all()


def test_an_annotation_that_names_nothing_is_an_error():
    with pytest.raises(errors.TraceError) as unknown:

        @workload
        def w(x: Tensor[f32, "n", MISSING]): ...

    assert unknown.value.code == "WSP1017" and "MISSING" in unknown.value.message
    with pytest.raises(errors.KernelError) as unknown:

        @kernel
        def k(x: In[Tensor[f32, MISSING]]): ...

    assert unknown.value.code == "WSP1103"


def test_methods_are_refused_and_functions_of_classes_are_not():
    with pytest.raises(errors.TraceError) as method:

        class Model:
            @workload
            def w(self, n):
                pass

    assert method.value.code == "WSP1049" and "Model" in method.value.message
    with pytest.raises(errors.KernelError) as method:

        class Kernels:
            @kernel
            def k(self, x: InOut):
                pto.store(x, pto.load(x))

    assert method.value.code == f"WSP{codes.METHOD}"

    class Both:
        gain = 2.0

        @kernel
        def double(x: InOut):
            pto.store(x, pto.load(x) * 2.0)

        def scaled(self):
            @kernel
            def by_gain(x: InOut):
                pto.store(x, pto.load(x) * self.gain)

            @workload
            def w(x: Tensor[f32, 1, 4]):
                Both.double(x)
                by_gain(x)

            return w

    both, x = Both(), np.ones((1, 4), np.float32)
    both.gain = 5.0
    both.scaled().compile().execute(x=x)
    assert x[0, 0] == 10.0


def test_any_name_of_a_tensor_can_be_given():
    @kernel
    def inc(x: InOut):
        pto.store(x, pto.load(x) + 1.0)

    for name in ("self", "named", "cls", "args"):
        X = tensor((1, 4), f32, name=name)

        @workload
        def w():
            inc(X)

        program, z = w.compile(), np.zeros((1, 4), np.float32)
        program.execute(**{name: z})
        program.execute_async(**{name: z}).synchronize()
        bound = program.bind(**{name: z})
        bound()
        bound.rebind(**{name: z})
        program.rebind(**{name: z})
        program.graph(**{name: z})
        assert z[0, 0] == 3.0


class Rewriting(importlib.machinery.SourceFileLoader):
    """Loads a module with its functions changed, as checkers of types do."""

    def __init__(self, name, path, change):
        super().__init__(name, path)
        self.change = change

    def source_to_code(self, data, path, *, _optimize=-1):
        tree = ast.parse(data, path)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                self.change(node)
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def rewritten(file, text, change):
    """A module that a hook has loaded; `checked` wraps a function."""

    def checked(function):
        @functools.wraps(function)
        def inner(*args, **named):
            return function(*args, **named)

        return inner

    file.write_text(text)
    loader = Rewriting("a_rewritten_module", str(file), change)
    spec = importlib.util.spec_from_file_location(loader.name, file, loader=loader)
    made = importlib.util.module_from_spec(spec)
    made.checked = checked
    loader.exec_module(made)
    return made


def test_a_wrapper_that_an_import_hook_puts_around_functions_is_passed_over(module):
    def wrap(node):
        node.decorator_list.append(ast.copy_location(ast.Name("checked", ast.Load()), node))

    made = rewritten(module[0], MODULE, wrap)
    assert ran(made.w) == 1.0


def test_a_decorator_whose_module_is_none_is_not_one_of_ours(tmp_path):
    def wrap(function):
        return functools.wraps(function)(lambda *args: function(*args))

    wrap.__module__ = None
    file = tmp_path / "a_wrapped_module.py"
    file.write_text(MODULE.replace("@kernel", "@kernel\n@wrap"))
    scope = {"wrap": wrap, "__name__": file.stem}
    with pytest.raises(errors.KernelError, match="is wrapped by another decorator"):
        exec(compile(file.read_text(), str(file), "exec"), scope)


@pytest.mark.parametrize("name", ["helper", "w"])
def test_a_function_that_an_import_hook_has_rewritten_names_the_hook(module, name):
    def insert(node):
        if node.name == name:
            node.body.insert(0, ast.copy_location(ast.parse("abs(1)").body[0], node.body[0]))

    made = rewritten(module[0], MODULE, insert)
    with pytest.raises(errors.WspError) as caught:
        ran(made.w)
    text = str(caught.value)
    assert "test_texts.Rewriting` has loaded" in text and "`typing.no_type_check`" in text, text


def test_what_is_known_of_a_line_without_a_text_is_shown() -> None:
    text = (
        "from pto_wsp import *\n\n@workload\ndef w(n: DenseDyn) -> None:\n    for i in P(n):\n        pass\n"
    )
    scope: dict[str, object] = {}
    with pytest.raises(errors.TraceError) as untold:
        exec(text + "w.compile()\n", scope)
    assert "5 | (in `w`; the text of <string> is not at hand)" in str(untold.value)
    with pytest.raises(errors.ArgumentError) as outside:
        exec("from pto_wsp import BatchDecode\nBatchDecode().lengths\n", scope)
    assert "2 | (at the outermost level; the text of <string> is not at hand)" in str(outside.value)
