//! What callers of Python programs give: arrays, sizes, names. Codes 1250 to 1299.

wsp_diag::codes! {
    pub NOT_AN_ARRAY = 1250, "not an array",
        "\
A value given for a tensor is no array that can be used in place. Arrays are objects with the buffer protocol, with
`__array_interface__` or with `__dlpack__`: NumPy arrays, CPU tensors of PyTorch, JAX arrays, `array.array`, `bytearray`,
`memoryview`. Make one of a list with `np.asarray(values, dtype=…)`.";
    pub UNSUPPORTED_ELEMENT = 1251, "element type that no tensor can have",
        "\
The elements of an array are of a type that no tensor can have, such as complex numbers, dates or objects. The message lists
those that can be. Convert the array: `x.astype(np.float32)`.";
    pub WRONG_TYPE = 1252, "element type of an array",
        "\
An array's elements have another type than its tensor is declared with. Arrays are used in place, so nothing is converted
silently. Convert the array, `x.astype(np.float32)` or `x.to(torch.float32)`, or declare the tensor with its type.";
    pub WRONG_SHAPE = 1253, "shape of an array",
        "\
An array has another number of dimensions than its tensor, or another extent along one that is fixed or computed from sizes.
The message shows both.";
    pub LAYOUT = 1254, "layout of an array",
        "\
An array's elements run backwards along a dimension (`x[::-1]`), do not lie at multiples of their size, or are reached
through pointers. Copy it first: `np.ascontiguousarray(x)`. Transposed and sliced arrays can be used as they are.";
    pub READ_ONLY = 1255, "read-only output",
        "\
Tasks write this tensor, but its array may not be written: it views bytes, a JAX array, or an array whose `writeable` flag is
off. Give an array of your own: `np.array(x)` copies.";
    pub BYTE_ORDER = 1256, "byte order of an array",
        "\
The bytes of an array's elements are in the other order than those of this machine. Convert it:
`x.astype(x.dtype.newbyteorder(\"=\"))`.";
    pub DEVICE = 1257, "array on a device",
        "\
The array lies in the memory of a GPU or another device. The target `cpu_sim` computes in main memory: `x.cpu()`,
`jax.device_put(x, jax.devices(\"cpu\")[0])`.";
    pub REFUSED = 1258, "array that cannot be shared",
        "\
The object should share its elements and refuses or shares something that is no array. What it says stands in the message;
a tensor of PyTorch that requires gradients is shared after `x.detach()`, a masked array of NumPy as `x.data` or
`x.filled(0)`.";
    pub MISSING = 1259, "missing argument",
        "\
An array or a size that the program needs is not given, and does not follow from the shapes of the arrays that are. Give it by
name: `program.execute(X=x, seq=128)`.";
    pub SURPLUS = 1260, "surplus argument",
        "\
A name is given that the program does not have, or one that is none of the caller's: temporaries are made by the program.";
    pub CONTRADICTION = 1261, "sizes that contradict each other",
        "\
A size follows from the shapes of arrays and from what is given by name, and these disagree. The message shows both with where
they come from.";
    pub WRONG_VALUE = 1262, "value of a size",
        "\
Sizes are integers from 0 that fit 64 bits with sign. Another kind of value is given.";
    pub BAD_TABLE = 1263, "table",
        "\
A table is a list of integers or an array of integers or truth values with one dimension. Another kind of value, or an integer that does not
fit 64 bits with sign, is given.";
    pub BAD_OPTION = 1264, "option of a call",
        "\
An option of a compilation or a run does not exist, or has a value of another type or outside its range. The message lists the
options or says the range.";
    pub BAD_PAGES = 1265, "array that cannot be made",
        "\
`pto_wsp.zeros` and `pto_wsp.empty` take a shape, which is an integer or a tuple of integers from 0, and an element type. The
shape given is another value, has a negative extent or needs more bytes than can be addressed, or the type is one that NumPy has
with `ml_dtypes` only, which is not installed.";
    pub OFF_PAGE = 1266, "cache that begins inside a page",
        "\
An array of keys or values of at least 1 MiB does not begin at a page of memory, so its own pages lie across those of the machine.
Processors fetch ahead up to the end of a page of memory only, and elements that lie across cache lines are fetched twice, so attention
over such a cache takes up to twice as long. The results are the same. Make room for caches with `pto_wsp.empty(shape, dtype)`.";
    pub COPIED = 1267, "large array that is copied for each run",
        "\
An array of real numbers of at least 1 MiB does not lie in row-major order without gaps, or not at a multiple of its elements' size, so
a run of a `.pto` file's program copies it first, which takes longer than most runs. Copy it once: `x = np.ascontiguousarray(x)`.";
    pub IN_USE = 1268, "array in use",
        "\
A run that goes on uses memory of this array, and it or the run that was to start writes it, so that the two would overwrite each other's
elements. Arrays that share a part of a buffer are refused as well; parts without a common element can be used side by side, and so can
arrays that both runs only read. Wait for the first run, `run.synchronize()`, or give each run an array of its own. The same code is
given for a bound program or a plan that another thread uses.";
    pub ELSEWHERE = 1269, "run of another process",
        "\
A run of `execute_async` is waited for in a process that was forked after it began. The threads of the run are in the process that started
it; the child has the memory as it was then. Wait for runs before a fork, or start processes anew:
`multiprocessing.set_start_method(\"spawn\")`.";
    pub OUTLIVES = 1270, "run that may outlive its task",
        "\
A `@python_kernel` or a function of a task graph calls `execute_async`. What a task runs has the arrays of that task and makes no claims on
them, so it has to end before the task does. Call `execute`, or start the run outside of the kernel.

Or it waits for a run that goes on, `run.synchronize()`, which may be the one that waits for this task. Wait outside of the kernel.";
    pub NO_ATTRIBUTE = 1271, "attribute that an object does not have",
        "\
An object of the package has no attribute or method of this name. The message says which object has it, or which name is near. The error is
an `AttributeError`, too, so that `hasattr` and `getattr` with a default work.";
    pub TIMED_OUT = 1272, "run that took longer than its limit",
        "\
A run with a `timeout=` was not over in time and was stopped: tasks that had started have ended, the others never start. What the run writes is not
complete. The notes say how many tasks were done and which ones were waited for when the time was over. A task is never torn off, so one that
waits for something that does not come keeps the run until it ends by itself.";
    pub CALL = 1273, "arguments of a call",
        "\
A function or class of the package is called with other arguments than it has parameters: one is missing, is given twice, has a name that is
none of them, or there are too many. Objects that the package makes, such as `Stats`, `Graph` and `Task`, are not made by their names.
The message says which argument it is; the error is a `TypeError`, too.";
    pub NESTED = 1274, "runs within each other",
        "\
A `@python_kernel` runs a program, whose Python kernel runs one again, and so on: each takes a part of its thread's stack, which has room
for 16, or has threads of its own while those of the runs around it wait. Call `execute` again when it has ended, in a loop of Python.";
}
