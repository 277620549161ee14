//! Codes of what the programs report, the command line and the Python package: files, made-up data, checks, graphs and task graphs.
//!
//! They stand here because a number means one thing in both programs, and in all crates ([`catalog`](crate::catalog)).

pub use wsp_backend::codes::OPTION_OF_OTHERS;
use wsp_diag::Code;

wsp_diag::codes! {
    pub FILE_MISSING = 500, "a file does not exist",
        "\
A path on the command line leads to no file.
Check it with `ls`; the help line names a file of a similar name in the same folder, if there is one.";
    pub FILE_UNREADABLE = 501, "a file cannot be read",
        "\
The file exists, but it is a directory, is not a regular file, may not be read by this user, or the system failed
while reading it. The note holds what the system said.";
    pub NOT_AN_ARCHIVE = 502, "not a whole .npz archive",
        "\
`--inputs` takes a zip archive as `numpy.savez` writes it. The table of contents stands at the end of such a file, so
one that was cut off while it was written or copied cannot be opened. A single array in `.npy` format goes in with
`--input NAME=FILE.npy`.";
    pub BAD_ENTRY = 503, "an entry of an archive is missing or damaged",
        "\
The checksum of the entry is wrong, its packed bytes cannot be unpacked, or it claims a size that its bytes cannot
become. Entries must be stored or deflated, as `numpy.savez` and `numpy.savez_compressed` make them.
Write the archive again.";
    pub NOT_NPY = 504, "not a .npy array",
        "\
A file or archive entry that should hold an array does not begin with numpy's signature.
Write it with `numpy.save(\"FILE.npy\", array)`; archives go in with `--inputs FILE.npz`.";
    pub BAD_HEADER = 505, "the header of a .npy array is damaged",
        "\
The text that describes element type, order and shape cannot be understood, or ends early. The note says where.
Write the array again with `numpy.save` or `numpy.savez`.";
    pub UNSUPPORTED_TYPE = 506, "an array's element type is not supported",
        "\
Arrays hold float16, float32, float64, bfloat16 (as ml_dtypes saves it, or as uint16), float8_e4m3fn (as ml_dtypes
saves it, or as uint8), float8_e5m2, bool, or integers of 8 to 64 bits, int8 to uint64. Objects, text, complex and structured elements are not
taken: convert with `a.astype(…)`.";
    pub SIZE_MISMATCH = 507, "an array's shape and its data disagree",
        "\
The header's shape needs another number of bytes than follow it. With fewer bytes the file was cut off: write or copy
it again. With more, several arrays were written to one file: save each by itself.";
    pub NOT_ENOUGH_MEMORY = 508, "not enough memory",
        "\
An array, read or made up, needs more memory than this machine (or its control group) has available.
`wsp doctor` shows how much that is. Take less data, or free some memory.";
    pub CANNOT_WRITE = 509, "a file cannot be written",
        "\
A file for `--outputs`, `--trace`, `--json`, `--output` or a list cannot be created or filled, or is an input. Paths are tried
before the work begins; what can only be found out later, such as a full disk or a limit on file sizes, leaves no part of a
file. Through a link the file that it names is replaced. Outputs go to an archive (`o.npz`), which needs a regular file; lists,
traces and figures may go to a pipe. The note holds what the system said: check that the folder exists, that it may be
written to, and that the disk has room.";
    pub TWICE_GIVEN = 510, "an array is given twice",
        "\
Two `--input NAME=FILE.npy` name the same array, or one of them and the archive of `--inputs`, or an array that is given is to
be made up by `--fill NAME`; or two `--set NAME=VALUE` name the same value. Keep one of them. Or an archive has two entries of one name,
where `x` and `x.npy` are one: write it again. With `--allow-unused` an array
of `--input` takes the place of that in the archive.";
    pub BAD_INTEGER = 511, "an integer is out of range",
        "\
Lengths, page ids and row pointers may be saved as any integer type, but their values must lie in 0..=4294967295.
The message names the first element that does not.";
    pub NOT_INTEGERS = 512, "an array should hold integers",
        "\
Lengths and page tables are integers. Save the array with `a.astype(\"int32\")` or another integer type.";
    pub BAD_SOURCE_FILE = 513, "not a source file",
        "\
A `.pto` source is UTF-8 text of moderate length (`wsp config` shows the limit). This file is longer, or holds bytes
that belong to no character: it is probably another file than the one meant.";
    pub UNUSED_ENTRY = 514, "an entry of the archive is not used",
        "\
An entry of the `.npz` has a name that no array of the program has. Often the name is misspelt, and the array that was meant is
missing: the help names it. `--allow-unused` passes over entries that nothing uses.";
    pub NO_CACHE = 516, "a folder cannot be a cache of plans",
        "\
The folder of `--cache FOLDER`, or in Python of `load(path).program(cache=FOLDER)`, cannot be made, cannot be written to, belongs to another user, or may
be written to by its group or by others; or an entry in it is so. It is tried before the work begins. Entries hold machine code, which runs with the
rights of the program: take a folder of your own (`chmod go-w FOLDER`). The folder around it must be there.";
    pub CACHE_ENTRY = 517, "an entry of a cache is damaged or cannot be kept",
        "\
The checksum of an entry of a cache of plans is wrong, it ends early, or it is none: it is not used, the program is compiled, and the entry is
written anew. Or an entry cannot be written, because the disk is full or the folder is gone. Of a package that `wsp run FILE --target ascend_host` has
built the program is not as it was built, or no regular file: the package is built anew. None of these changes what the program does.";
    pub BAD_LENGTHS = 520, "a list of lengths is wrong",
        "\
`--generate lens=FILE` reads one whole number of tokens per line; empty lines and lines that begin with `#` are passed
over. With `batch=N` the first N are taken, and there must be so many.";
    pub TOO_MUCH_DATA = 521, "made-up data would be too large to count",
        "\
Page ids are 32 bits wide, and an array's bytes must be countable in 64 bits. Take fewer or shorter requests, or larger
pages (`page=64`).";
    pub CANNOT_GENERATE = 522, "data cannot be made up for this program",
        "\
`--generate`, and a run without data, make the arrays of decode attention (queries, a paged cache and lengths), or
random tensors for programs without a paged cache. Of decode attention, which parameter is which is taken from the
program's `PTO_REFERENCE(paged_decode_attention, { .q = …, .kv = …, … })`. Integer arrays are not made up for other
programs: give them with `--inputs` or `--input`. The same code reports a `layout=` that contradicts
`--set kv_layout=`.";
    pub NO_LAYOUT = 523, "a page layout that changes nothing",
        "\
`kv_layout` is the order of heads and tokens inside the pages of a paged KV cache. The program takes no such cache, or
the layouts are given elsewhere (`cargo xtask bench decode --layouts`), so the setting would change nothing.";
    pub UNKNOWN_REFERENCE = 530, "unknown reference",
        "\
`PTO_REFERENCE(name, …)` names a computation that is built in and independent of plans and kernels. The note lists the
names there are.";
    pub BAD_ROLE = 531, "a reference's roles are wrong",
        "\
Each role of a `PTO_REFERENCE` names a parameter of the host entry, or a `PTO_PARAM`.
`paged_decode_attention` needs `.q`, `.kv` (a PagedKVCache) and `.output`; `.lse`, `.sm_scale` (else 1/sqrt(dim)) and
others may be given: `docs/reference/pto.md`, \"Host entry\", lists the roles of every reference.";
    pub CANNOT_COMPARE = 532, "an output cannot be compared",
        "\
The reference cannot be computed from the arrays of this run, or an output does not have as many elements as it.
The note says what does not fit.";
    pub CHECK_FAILED = 533, "an output differs from its reference",
        "\
Some elements are further from what the output was compared with than rounding explains: the tolerance follows from the
length of the sums, the sizes of what they add up, and the type of the output (`docs/reference/checks.md`).
The notes name the worst element. NaN in made-up data stand in cache slots of no request: an output that is NaN comes
from reading past the tokens of a request, or from 0/0 and (-inf) - (-inf) for an empty one.";
    pub NO_REFERENCE = 535, "a reference in Python gives no numbers to compare with",
        "\
`wsp run FILE --reference FILE.py` calls the function `reference` of that file with the arrays and parameters that it names, and compares the outputs
that it gives. Python or its module numpy is missing, the file has no such function, the function takes a name that the run does not have or raised an
exception, or what it gives is no dict of outputs: another name, another shape, NaN. The message says which. Of an output of integers those
below 2^53 are compared.";
    pub NOTHING_TO_CHECK = 534, "nothing to check results with",
        "\
A run was to be checked, and no element was compared: no kernel stores to an output, or the outputs have no elements, or every
element of an output is NaN, which is equal to nothing. A store after a `return` does not run, and makes no output. Or a benchmark was to check a program without `PTO_REFERENCE`: add
one, or run with `--no-check`.";
    pub NEVER_WRITTEN = 537, "elements of an output were never written",
        "\
A run that checks (`--check`, on by itself for made-up data) or `--strict` records what tasks store. Elements of an
output that no task stored hold zeros or made-up values, which nothing computed. The note names the first.
Usually the space, the tiles or an index leave out a part, or loads past the end of an axis gave tiles of no rows.
An output that keeps a part of what it began with is an input too: give its array. Elements that a task loads before any
stores them are inputs as well. An output to which tasks have stored nothing at all is reported also where its array is given.
An output that is meant to be written in part, or not at all, is named with `--allow-unwritten NAME`.
The code is also that of an array of the launch that no kernel loads from or stores to.";
    pub NAN_OUTPUT = 538, "an output is NaN or infinite",
        "\
Some elements of an output are NaN, or all are infinite, and the output was compared with nothing but the same program, which
makes the same. Where every input is finite, look for 0 / 0, 1 / 0, inf - inf, or the logarithm or the root of a negative
number. Where an input has NaN or infinity, the code is an error of `--strict` only. Where it is meant, name a `PTO_REFERENCE`
that gives it too, or run with `--no-check`.";
    pub UNKNOWN_OUTPUT = 539, "no such output",
        "\
`--allow-unwritten NAME` names an output of the program that tasks are meant to write a part of. No output has this name.";
    pub PEER_FAILED = 541, "a peer of a benchmark failed",
        "\
`cargo xtask bench decode --peers` runs the programs of `benches/peers/decode` beside the measured one. One of them ended before
it was told to, or printed something else than the lines that `benches/peers/decode/README.md` describes; the note shows
the end of what it said. A peer that merely lacks its package is no error: it is left out, and the table says what to
type. The same code is reported when `--install` cannot install all of the peers.";
    pub NOTHING_RAN = 545, "nothing ran",
        "\
The program issued no task, so that no output was computed and nothing can be checked: an extent or a parameter is 0 or less,
or a batch is empty. The note names parameters that are. Where the run was to be checked this is an error, otherwise a
warning.";
    pub OPTIONS_CONTRADICT = 546, "options that cannot be used together",
        "\
`--generate` makes up the whole batch of a program that takes a paged cache: pages, page tables and lengths belong together, and
are given together, with `--inputs` or `--input`, or made up together. Beside arrays that are given, single other arrays of such
a program are made up with `--fill NAME`, with the extents of the cache.";
    pub LOADED_UNWRITTEN = 547, "tasks load what none stores",
        "\
Tasks store elements of a tensor, and load others of it that no task stores. Nothing gives the tensor, so that these others are made up.
Usually the tasks that store it leave out a part: a bound, an index or a condition is wrong. The note names the first element.
A tensor of which a run updates a part, such as a cache that a step appends a row to, begins with elements: give its array with the
others, or name it with `--allow-unwritten NAME`. With `--strict` this is an error. A run that checks (on by itself for made-up
data), and one with `--strict`, looks for it; paged caches are exempt.";
    pub USAGE = 548, "the command line is wrong",
        "\
An option, a value or a command is misspelt, missing, or not taken there. The message names it, and the help says what to type; `wsp COMMAND --help`
lists what a command takes. The exit status is 2. With `--error-format json` this is one object, as every error is; for people
it is printed without the code.";
    pub UNKNOWN_CODE = 549, "no such diagnostic",
        "\
`wsp explain` was given a text that is no code, or a number that no diagnostic has. A code is written WSP0031, wsp31 or 31.";
    pub NOT_A_WORKLOAD = 880, "not a program with tasks",
        "\
`wsp graph` lists the tasks of a program (`.pto`), a workload (`.wsp`) a task graph (`.tg`, `.ptog`) or a list of records (`.pending`), which it knows by the name of the file.";
    pub OUTPUTS_COLLIDE = 881, "an output cannot go there",
        "\
Two outputs go to one file, two go to standard output, or an output would replace a file that is read: a source or an
array. Give each output a name of its own. With a list on standard output (`-`), the summary is printed only if the list
goes to a file.";
    pub NOT_SEQUENTIAL = 883, "outputs differ from those of a sequential run",
        "\
`wsp run FILE.wsp` runs the workload a second time, one task after another in elaboration order, and compares what both
runs wrote bit by bit. They may differ only when the schedule leaves out a dependence that the data need
(`deps = explicit` or `exact`), or when a kernel touches what it does not declare. The notes name the first element that
differs.";
    pub SEVERAL_LIBRARIES = 884, "several used files",
        "\
A workload takes its kernels from one file. Put the kernels of the others into it.";
    pub MORE_THAN_ROWS = 885, "an access does not fit rows and columns",
        "\
`wsp graph --args` and `--emit pending` write regions as rows and columns, so tensors that tasks access must have at most two
dimensions. Leave out the option, or declare the tensor with its first dimensions multiplied.";
    pub NO_RECORD = 886, "a task does not fit a record",
        "\
`wsp graph --emit pending` writes a record of fixed size for each task. It has room for 16 accesses, regions are rows and columns of
31 bits, and names have neither commas nor quotes. More than 512 successors of a task are no fault: they are reached through relays.";
    pub BROKEN_RECORDS = 887, "a file of records of tasks is damaged",
        "\
A file whose name ends in `.pending`, or that begins as such files do, has a part that is wrong. The note says which record and field, or
which row of the tables of names. Write it again with `wsp graph FILE --emit pending -o FILE.pending`.";
    pub HOST_KERNEL = 888, "kernels of the host have no place there",
        "\
`kernel NAME on host;` has the host run the tasks of a kernel, between those of cores. Programs of AICPUs (`.ptow`), task graphs (`.tg`, `.ptog`) and
records of tasks (`--emit pending`) do not tell where else than on cores a task runs: leave out `on host` in what they are made of, or write a package
(`wsp emit`), which keeps it. As a note of `wsp graph`: its lists show such a kernel as one for any core.";
    pub BINARY_TO_TERMINAL = 922, "program to a terminal",
        "\
`wsp asm` would print bytes to a terminal. Give a file with `--output FILE.ptow`, or send its output to a file or to another
program. `wsp disasm` prints a program as text.";
    pub WRONG_KIND = 1590, "the command takes another kind of file",
        "\
The file is a task graph, a workload, a program or a program in bytes, and the command takes another of these. Files in bytes
are recognised by their first word, whatever they are called; all others by the end of their name: `.pto` programs, `.wsp`
workloads, `.tg` task graphs as text, `.ptows` programs that generate tasks. The help names commands that take it.";
    pub UNIT_TOO_LONG = 1591, "the task graph is too long",
        "\
The text or binary of a task graph has more bytes than a unit may have; `wsp config` prints the limit. Check that it is the
right file, or split the unit.";
    pub UNKNOWN_NAME = 1592, "the unit has nothing of this name",
        "\
An option of `wsp run` names an array, a value or an event. Arrays are given for tensors that the unit declares `extern` and
for tensors that its kernels keep resident; `--set` for values that it declares with `arg` or `host` and for parameters of its
files of kernels; `--event` for events that it declares `extern event`.";
    pub WRONG_ARRAY = 1593, "the array does not fit the tensor",
        "\
An array has another element type or another number of bytes than the tensor that it is given for. The notes name both. The
shape may differ, if the elements are as many.";
    pub CANNOT_MAKE_TENSOR = 1594, "the data of a tensor cannot be made up",
        "\
Whoever runs a unit provides its `extern` tensors. `wsp run` makes them up from a seed, if their size is known: from their
declaration, or from a kernel of a file that takes them. Declare the tensor with a type and a shape,
`extern X: f16[4096, 128]`, or give it with `--input X=FILE.npy`.";
    pub NO_CHECKPOINTS = 1595, "checkpoints cannot be kept or found",
        "\
`--checkpoints DIR` names a folder, which is made if it is not there. Each checkpoint is written under a name of its own, brought
to the disk, and only then given its final name, so that a run that is killed at any moment leaves the last complete one. The
note says what the system refused.";
    pub NOT_ALONE = 1596, "outputs differ from those of a run on one thread",
        "\
`wsp run` runs a unit without a reference a second time, on one thread, and compares what both runs wrote bit by bit. They may
differ only when two kernels touch the same bytes without an order between them, one of them writing. `wsp check` names such
pairs (WSP1501, WSP1521); what devices share and it cannot decide is a warning (WSP1519), also where the pair is surely in no order.
The notes name the first element that differs.";
    pub CANNOT_EMIT = 1597, "a stage of a task graph cannot be emitted",
        "\
`wsp asm --emit image` writes the nodes and edges of a graph, and the unit has none.";
    pub NOTHING_TO_KEEP = 1598, "a folder for checkpoints, and a unit without checkpoints",
        "\
`--checkpoints DIR` keeps what `TG_CHECKPOINT` saves, and the unit has no such instruction: nothing would be kept, and a run that is
killed could only begin anew. Add `TG_CHECKPOINT(GRAPH, NAME)` between tasks of a graph or between statements of the host.";
    pub NOT_THIS_MACHINE = 1770, "a model that measured runs say nothing of",
        "\
`wsp sim --fit` runs programs on the threads of this machine and finds the figures of a model by which its simulation takes as long. A model with units
for vectors and matrix products, or with AICPUs, is of another machine. Begin with the model `cpu`, or with what `wsp doctor --model` writes.";
    pub OTHER_TASKS = 1771, "a run has other tasks than its simulation",
        "\
`wsp sim --fit` compares the tasks of measured runs, one by one, with those of a simulation. A program whose tasks depend on what others
compute, or on the number of threads, cannot be compared so. Leave it out.";
    pub NOT_BUILT = 1772, "a package was not built",
        "\
`wsp run FILE --target ascend_host` writes the program as a package of C++ and builds it, once, in `pto-wsp/packages` of the user's cache folder
(`XDG_CACHE_HOME`, or `.cache` in `HOME`). It takes a C++17 compiler: that of `CXX`, or the first of `c++`, `g++` and `clang++` that there is.
The notes hold what the compiler or the system said.";
    pub HOST_RUN = 1773, "a package has failed",
        "\
The program of a package says what is wrong with its arrays and values, which task has failed and why, or which tasks wait for what.
Words of a task in brackets are those of simulated cores: docs/ascend_host.md has a table of them.";
}

/// That of an input that is missing, which backends report as well.
pub const MISSING_ARRAY: Code = Code(550);
/// That of an entry symbol that no kernel has, which backends report as well.
pub const UNKNOWN_ENTRY: Code = Code(1540);
