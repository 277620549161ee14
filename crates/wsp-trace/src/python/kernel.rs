//! The source of kernels written in Python: WSP1100-WSP1199.

use wsp_diag::{Code, CodeInfo};

/// The codes of this group.
pub(crate) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(1100),
        title: "the source of a kernel cannot be read",
        explanation: "`@kernel` compiles the text of a function. A function that was typed at a prompt without history, or made \
            by `exec`, has none. Put it into a file or a notebook cell, on lines of its own.",
    },
    CodeInfo {
        code: Code(1101),
        title: "not a function that can be a kernel",
        explanation: "A kernel is a plain `def`: no lambda, class, generator, `async` function, function under another decorator \
            that wraps it, and no kernel once more.",
    },
    CodeInfo {
        code: Code(1102),
        title: "a parameter of a kernel has no annotation",
        explanation: "Annotations say what a parameter takes: `In`, `Out` and `InOut` are regions of tensors, `Scalar` is an integer \
            of the task, `Constexpr` a value that Python knows when the kernel is compiled.",
    },
    CodeInfo {
        code: Code(1103),
        title: "not an annotation of a kernel parameter",
        explanation: "`In`, `Out` and `InOut` may say more: `In[f32]`, `In[f32, 64, None]` with an extent per dimension and None for \
            any, `In[Tile[64, 128, f32]]`. The others are `Scalar` and `Constexpr`. With `from __future__ import annotations` the \
            names must be visible where the kernel is defined.",
    },
    CodeInfo {
        code: Code(1104),
        title: "a kernel takes a fixed list of parameters",
        explanation: "`*args` and `**kwargs` cannot be parameters of a kernel: its tasks have one region or number per parameter.",
    },
    CodeInfo {
        code: Code(1105),
        title: "a parameter cannot have this default",
        explanation: "A `Constexpr` may have any default and a `Scalar` a whole number from 0 to 4294967295. Views have none.",
    },
    CodeInfo {
        code: Code(1106),
        title: "not an option of a kernel",
        explanation: "`@kernel(unit=…)` is `\"vector\"`, `\"cube\"` or `\"any\"`; `cost=` is a whole number of cycles from 0 on, or a \
            function of the kernel's scalar parameters that is one.",
    },
    CodeInfo {
        code: Code(1107),
        title: "the statement cannot stand in a kernel",
        explanation: "Kernels have assignments, `if`, `for … in range(…)`, `while`, `break`, `continue`, `return`, `pass`, and `assert` of \
            constants. Assigned are variables, and elements and slices of `Out` and `InOut` views. There is no `try`, `with`, `import`, \
            `global`, nested function or class, and no `else` of a loop.",
    },
    CodeInfo {
        code: Code(1108),
        title: "the expression cannot stand in a kernel",
        explanation: "Expressions of kernels are numbers, tiles, views and constants: arithmetic, comparisons, `and`, `or`, `not`, \
            conditional expressions, indices, slices, tuples and calls. There are no comprehensions, lambdas, `:=`, f-strings, \
            dictionaries or sets.",
    },
    CodeInfo {
        code: Code(1109),
        title: "a name is not defined",
        explanation: "The name is no variable of the function, no variable around it, no global and no builtin.",
    },
    CodeInfo {
        code: Code(1110),
        title: "`pto` has no such function",
        explanation: "The functions of tiles are those of module `pto_wsp.pto`; `help(pto)` lists them. What is not among them is written \
            with those that are.",
    },
    CodeInfo {
        code: Code(1111),
        title: "there is no such attribute",
        explanation: "Views have `shape`, `dtype`, `ndim` and `T`; tiles have `rows`, `cols`, `shape`, `dtype` and `T`. Functions of tiles \
            are called as `pto.exp(t)`. Attributes of modules and constants are Python's.",
    },
    CodeInfo {
        code: Code(1112),
        title: "the function cannot be called in a kernel",
        explanation: "A kernel calls functions of `pto`, plain Python functions, which are compiled in place, and `int`, `float`, `bool`, `abs`, \
            `min`, `max` and `len`. Functions of `math` and a few of Python's take constants. NumPy and PyTorch functions, `print` and other \
            kernels cannot be called; `@python_kernel` runs any Python.",
    },
    CodeInfo {
        code: Code(1113),
        title: "the arguments do not fit the function",
        explanation: "Arguments are missing, surplus, or of another kind: a tile, a view, a number or an element type was expected. Views \
            become tiles with `pto.load`, tiles become numbers with `pto.max` and `pto.sum`.",
    },
    CodeInfo {
        code: Code(1114),
        title: "a variable may be unassigned",
        explanation: "As in Python, a name that a function assigns is its variable throughout. On some way to this use it has no value: \
            a branch that does not assign it, a loop without a pass, or a use above the first assignment.",
    },
    CodeInfo {
        code: Code(1115),
        title: "a variable changes its type",
        explanation: "A variable of a kernel is one of the device's: an integer, a float, a truth value, or a tile of one capacity and \
            element type. An integer constant may be given to a float variable. Start with `0.0` where floats follow, with \
            `pto.zeros(shape)` where tiles follow, and use another name for a value of another type.",
    },
    CodeInfo {
        code: Code(1116),
        title: "a value differs between ways through the function",
        explanation: "Views, tuples, strings and other values that exist only while a kernel is compiled must be the same on every way \
            that leads to their use. Numbers and tiles may differ: they are variables of the running kernel.",
    },
    CodeInfo {
        code: Code(1117),
        title: "the shapes of tiles do not go together",
        explanation: "Tiles meet tiles of the same shape, columns with as many rows, rows with as many columns, and single elements. A \
            product takes `(m, k)` and `(k, n)`. A stored tile has the shape of its view. Where a shape depends on data the check is \
            made while the kernel runs.",
    },
    CodeInfo {
        code: Code(1118),
        title: "the shape of a tile must be known",
        explanation: "A tile takes room that is fixed when the kernel is compiled. Its rows and columns are constants from 1 on, or \
            integers with a known bound: extents of views such as `X[tile(i, 64)]`, rows and columns of tiles, `pto.min(n, 64)`.",
    },
    CodeInfo {
        code: Code(1119),
        title: "the extent of a view is not known",
        explanation: "The room of a loaded tile is that of the view, where its extents are constants or bounded. Elsewhere say it: \
            `pto.load(view, shape=(64, 128))` loads at most so much, and less where the view ends before.",
    },
    CodeInfo {
        code: Code(1120),
        title: "an `In` view is stored to",
        explanation: "Dependences of tasks follow from annotations, so a kernel stores to `Out` and `InOut` parameters only.",
    },
    CodeInfo {
        code: Code(1121),
        title: "an `Out` view is read",
        explanation: "What an `Out` view holds before is not defined, and no task is waited for. A parameter that is read and written is \
            `InOut`.",
    },
    CodeInfo {
        code: Code(1122),
        title: "an index must be an integer",
        explanation: "Indices, slices and counts are integers. `a / b` is a float as in Python: write `a // b`, or `int(…)`. An index into \
            a tuple must be a constant.",
    },
    CodeInfo {
        code: Code(1123),
        title: "the index has a form that views do not have",
        explanation: "A view takes at most one index, slice or `:` per dimension, and one `...`. Slices have no step; there is no \
            `None`. Tiles have no indices: slice the view that is loaded. A tile is loaded from a view of one or two dimensions.",
    },
    CodeInfo {
        code: Code(1124),
        title: "a condition must be a number",
        explanation: "Conditions are truth values and numbers, true when not 0. A tile or view is none: reduce it, as in \
            `pto.max(tile) > 0`.",
    },
    CodeInfo {
        code: Code(1125),
        title: "the operator does not apply",
        explanation: "Tiles have `+`, `-`, `*`, `/`, `@`, `** 2` and unary `-`; integers have Python's operators except `**` other than 2; \
            floats have `+`, `-`, `*`, `/`. Views are loaded first. Tiles are not compared: use `pto.maximum`, `pto.minimum`, `pto.mask`.",
    },
    CodeInfo {
        code: Code(1126),
        title: "a constant is out of range",
        explanation: "A constant does not fit the type it is needed as, or a constant index lies outside of a dimension whose extent is \
            known. Integers of kernels have 64 bits, indices and counts 32 without a sign, floats are `f32`.",
    },
    CodeInfo {
        code: Code(1127),
        title: "a helper calls itself",
        explanation: "Helper functions are compiled in place of their calls, so none can call itself, directly or by a detour.",
    },
    CodeInfo {
        code: Code(1128),
        title: "`return` is out of place",
        explanation: "A kernel returns nothing: results go to `Out` parameters. A helper may return early, but not out of a loop, and returns \
            values of one type.",
    },
    CodeInfo {
        code: Code(1129),
        title: "the result of an operation is not used",
        explanation: "Tiles are values: `pto.mask(t, …)` makes a tile and leaves `t` as it is. Assign the result: `t = pto.mask(t, …)`, \
            `values, indices = pto.topk(values, indices, …)`.",
    },
    CodeInfo {
        code: Code(1130),
        title: "tiles cannot have these elements",
        explanation: "Integers and truth values go with those of their own type: convert a tile with `pto.cast`. Functions of real numbers do not take \
            them, and truth values have no arithmetic. Single elements of `f64` and of integers are not stored: a tile of one element \
            takes their place; those of integers are read one by one from views of one dimension.",
    },
    CodeInfo {
        code: Code(1131),
        title: "an argument is not what the annotation asks for",
        explanation: "The element type, the number of dimensions, or an extent that is known when the workload is traced differs from the \
            annotation; or the value of a `Constexpr` cannot be compared with others. Extents that are not known then are checked for \
            each task.",
    },
    CodeInfo {
        code: Code(1132),
        title: "there is no such coordinate",
        explanation: "`k[b, h](…)` gives its task the coordinates `pto.coord(0)` and `pto.coord(1)`. The number is a constant below the number \
            of indices in the call; a kernel is compiled for each number of them.",
    },
    CodeInfo {
        code: Code(1133),
        title: "a function of kernels is called outside of a kernel",
        explanation: "Functions of `pto` are compiled as part of a function with `@kernel`. In a `@python_kernel`, which Python runs, use NumPy; \
            `pto.coord` works in both.",
    },
    CodeInfo {
        code: Code(1134),
        title: "a constant cannot be computed",
        explanation: "What consists of constants alone is computed by Python when the kernel is compiled, and Python raised an error.",
    },
    CodeInfo {
        code: Code(1135),
        title: "an assertion of a kernel failed",
        explanation: "`assert` in a kernel is checked when it is compiled, for each combination of known extents and constants.",
    },
    CodeInfo {
        code: Code(1136),
        title: "a tile is too large",
        explanation: "A tile has at most 16 MiB at four bytes per element. Go over the data in smaller tiles.",
    },
    CodeInfo {
        code: Code(1137),
        title: "a loop does not go over a range",
        explanation: "`for i in range(start, end, step):` with integers and a constant step other than 0 is the counted loop of a kernel. \
            `while` is any other.",
    },
    CodeInfo {
        code: Code(1138),
        title: "the file of a helper has changed",
        explanation: "A function that a kernel calls is compiled from its text. The text of its file, which is read when it is first needed or \
            when a function of the file is decorated, says something else than what Python has imported: the file has changed, and Python \
            is to be started again or the module to be imported anew, or an import hook has rewritten its functions, and the module is \
            to be left out of it. Wrappers that a hook puts around a function are passed over.",
    },
    CodeInfo {
        code: Code(1139),
        title: "a kernel is a method",
        explanation: "A task gives its kernel regions of tensors, integers and constants, and no `self`. Decorate a function inside of a method, \
            which sees `self` as a variable around it, or leave `self` out.",
    },
    CodeInfo {
        code: Code(1140),
        title: "an `Out` is never stored to",
        explanation: "An `Out` is written in every element by each task of the kernel. This kernel, as it is compiled for these constants, has no \
            statement that stores to it, so that the array would keep what was there. With `enable_debug=True` tasks that leave elements of an \
            `Out` unwritten fail with their number and the first one's place.",
    },
];
