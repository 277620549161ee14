"""Calls the function `reference` of a file: arrays and parameters come in, what it gives goes out."""

import inspect, json, os, signal, sys, threading, time, traceback

def fail(kind, what, detail=""):
    sys.stderr.write(json.dumps({"kind": kind, "what": what, "detail": detail}))
    sys.stderr.flush()
    os._exit(1)

def ends_with(parent):
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)

def numbers(name, value):
    if "Masked" in type(value).__name__:
        fail("form", "`%s` is a masked array: give one without a mask" % name)
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        fail("form", "`%s` is of %s, not of real numbers, integers or truth values" % (name, array.dtype))
    return np.ascontiguousarray(array, dtype=np.float64)

# Signals that the caller keeps for itself end this process, and it ends when the caller is gone.
if hasattr(signal, "pthread_sigmask"):
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=ends_with, args=(os.getppid(),), daemon=True).start()
# What the file prints, by Python or past it, is no result.
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
sys.stdout = sys.stderr
try:
    import numpy as np
except ImportError as fault:
    fail("numpy", str(fault))
data = sys.stdin.buffer
head = json.loads(data.readline())
values = dict(head["params"])
for name, dtype, shape in head["arrays"]:
    count = int(np.prod(shape, dtype=np.int64))
    raw = data.read(count * np.dtype(dtype).itemsize)
    values[name.replace(".", "_")] = np.frombuffer(bytearray(raw), dtype).reshape(shape)
path = sys.argv[1]
sys.argv = [path]
sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
scope = {"__name__": "reference", "__file__": path}
try:
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), scope)
    function = scope.get("reference")
    if not callable(function):
        fail("form", "it has no function `reference`")
    given, takes_all = {}, False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_all = True
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            fail("form", "parameter `%s` of `reference` cannot be given by its name" % parameter.name)
        elif parameter.name in values:
            given[parameter.name] = values[parameter.name]
        elif parameter.default is parameter.empty:
            fail("name", parameter.name, ", ".join("`%s`" % name for name in values))
    result = function(**(values if takes_all else given))
    if not isinstance(result, dict) or not all(isinstance(name, str) for name in result):
        fail("form", "`reference` gives a %s, not a dict of arrays by the names of outputs" % type(result).__name__)
    arrays = [(name, numbers(name, value)) for name, value in result.items()]
    tolerance = scope.get("tolerance", 0.0)
    if isinstance(tolerance, bool) or not hasattr(tolerance, "__float__") or not 0 <= float(tolerance) < float("inf"):
        fail("form", "`tolerance` is %r, not a number from 0 on" % (tolerance,))
except (Exception, SystemExit) as fault:
    here = [one for one in traceback.extract_tb(fault.__traceback__) if one.filename != "<string>"]
    line = "".join(traceback.format_list(here[-1:])).strip()
    fail("raised", "".join(traceback.format_exception_only(type(fault), fault)).strip(), line)
head = {"tolerance": float(tolerance), "arrays": [[name, np.shape(result[name])] for name, _ in arrays]}
out.write(json.dumps(head).encode() + b"\n")
for _, array in arrays:
    out.write(array.tobytes())
out.flush()
