//! Files, made-up data and checks of results: WSP0500-WSP0549.

use super::CodeInfo;
use crate::diag::Code;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(500),
        title: "a file does not exist",
        explanation: "\
A path on the command line leads to no file.
Check it with `ls`; the help line names a file of a similar name in the same folder, if there is one.",
    },
    CodeInfo {
        code: Code(501),
        title: "a file cannot be read",
        explanation: "\
The file exists, but it is a directory, is not a regular file, may not be read by this user, or the system failed
while reading it. The note holds what the system said.",
    },
    CodeInfo {
        code: Code(502),
        title: "not a whole .npz archive",
        explanation: "\
`--inputs` takes a zip archive as `numpy.savez` writes it. The table of contents stands at the end of such a file, so
one that was cut off while it was written or copied cannot be opened. A single array in `.npy` format goes in with
`--input NAME=FILE.npy`.",
    },
    CodeInfo {
        code: Code(503),
        title: "an entry of an archive is missing or damaged",
        explanation: "\
The checksum of the entry is wrong, its packed bytes cannot be unpacked, or it claims a size that its bytes cannot
become. Entries must be stored or deflated, as `numpy.savez` and `numpy.savez_compressed` make them.
Write the archive again.",
    },
    CodeInfo {
        code: Code(504),
        title: "not a .npy array",
        explanation: "\
A file or archive entry that should hold an array does not begin with numpy's signature.
Write it with `numpy.save(\"FILE.npy\", array)`; archives go in with `--inputs FILE.npz`.",
    },
    CodeInfo {
        code: Code(505),
        title: "the header of a .npy array is damaged",
        explanation: "\
The text that describes element type, order and shape cannot be understood, or ends early. The note says where.
Write the array again with `numpy.save` or `numpy.savez`.",
    },
    CodeInfo {
        code: Code(506),
        title: "an array's element type is not supported",
        explanation: "\
Arrays hold float16, float32, float64, bfloat16 (as ml_dtypes saves it, or as uint16), float8_e4m3fn (as ml_dtypes
saves it, or as uint8), float8_e5m2, uint8, uint16, int32, uint32, int64 or uint64. Objects, text, bool, complex and structured elements are not taken: convert with `a.astype(…)`.",
    },
    CodeInfo {
        code: Code(507),
        title: "an array's shape and its data disagree",
        explanation: "\
The header's shape needs another number of bytes than follow it. With fewer bytes the file was cut off: write or copy
it again. With more, several arrays were written to one file: save each by itself.",
    },
    CodeInfo {
        code: Code(508),
        title: "not enough memory",
        explanation: "\
An array, read or made up, needs more memory than this machine (or its control group) has available.
`wsp doctor` shows how much that is. Take less data, or free some memory.",
    },
    CodeInfo {
        code: Code(509),
        title: "a file cannot be written",
        explanation: "\
A file for `--outputs`, `--trace`, `--json`, `--output` or a list cannot be created or filled, or is an input. Paths are tried
before the work begins; what can only be found out later, such as a full disk or a limit on file sizes, leaves no part of a
file. Through a link the file that it names is replaced. Outputs go to an archive (`o.npz`), which needs a regular file; lists,
traces and figures may go to a pipe. The note holds what the system said: check that the folder exists, that it may be
written to, and that the disk has room.",
    },
    CodeInfo {
        code: Code(510),
        title: "an array is given twice",
        explanation: "\
Two `--input NAME=FILE.npy` name the same array, or one of them and the archive of `--inputs`, or an array that is given is to
be made up by `--fill NAME`; or two `--set NAME=VALUE` name the same value. Keep one of them. Or an archive has two entries of one name,
where `x` and `x.npy` are one: write it again. With `--allow-unused` an array
of `--input` takes the place of that in the archive.",
    },
    CodeInfo {
        code: Code(511),
        title: "an integer is out of range",
        explanation: "\
Lengths, page ids and row pointers may be saved as any integer type, but their values must lie in 0..=4294967295.
The message names the first element that does not.",
    },
    CodeInfo {
        code: Code(512),
        title: "an array should hold integers",
        explanation: "\
Lengths and page tables are integers. Save the array with `a.astype(\"int32\")` or another integer type.",
    },
    CodeInfo {
        code: Code(513),
        title: "not a source file",
        explanation: "\
A `.pto` source is UTF-8 text of moderate length (`wsp config` shows the limit). This file is longer, or holds bytes
that belong to no character: it is probably another file than the one meant.",
    },
    CodeInfo {
        code: Code(514),
        title: "an entry of the archive is not used",
        explanation: "\
An entry of the `.npz` has a name that no array of the program has. Often the name is misspelt, and the array that was meant is
missing: the help names it. `--allow-unused` passes over entries that nothing uses.",
    },
    CodeInfo {
        code: Code(515),
        title: "a file is part of programs, and none itself",
        explanation: "The file has no host entry and does not compile by itself: it uses what the programs that include it with \
            `#include` define. The message names those of its folder; run one of them.",
    },
    CodeInfo {
        code: Code(520),
        title: "a list of lengths is wrong",
        explanation: "\
`--generate lens=FILE` reads one whole number of tokens per line; empty lines and lines that begin with `#` are passed
over. With `batch=N` the first N are taken, and there must be so many.",
    },
    CodeInfo {
        code: Code(521),
        title: "made-up data would be too large to count",
        explanation: "\
Page ids are 32 bits wide, and an array's bytes must be countable in 64 bits. Take fewer or shorter requests, or larger
pages (`page=64`).",
    },
    CodeInfo {
        code: Code(522),
        title: "data cannot be made up for this program",
        explanation: "\
`--generate`, and a run without data, make the arrays of decode attention (queries, a paged cache and lengths), or
random tensors for programs without a paged cache. Of decode attention, which parameter is which is taken from the
program's `PTO_REFERENCE(paged_decode_attention, { .q = …, .kv = …, … })`. Integer arrays are not made up for other
programs: give them with `--inputs` or `--input`. The same code reports a `layout=` that contradicts
`--set kv_layout=`.",
    },
    CodeInfo {
        code: Code(523),
        title: "a page layout that changes nothing",
        explanation: "\
`kv_layout` is the order of heads and tokens inside the pages of a paged KV cache. The program takes no such cache, or
the layouts are given elsewhere (`wsp bench decode --layouts`), so the setting would change nothing.",
    },
    CodeInfo {
        code: Code(530),
        title: "unknown reference",
        explanation: "\
`PTO_REFERENCE(name, …)` names a computation that is built in and independent of plans and kernels. The note lists the
names there are.",
    },
    CodeInfo {
        code: Code(531),
        title: "a reference's roles are wrong",
        explanation: "\
Each role of a `PTO_REFERENCE` names a parameter of the host entry, or a `PTO_PARAM`.
`paged_decode_attention` needs `.q`, `.kv` (a PagedKVCache) and `.output`; `.lse`, `.sm_scale` (else 1/sqrt(dim)) and
others may be given: `docs/reference/pto.md`, \"Host entry\", lists the roles of every reference.",
    },
    CodeInfo {
        code: Code(532),
        title: "an output cannot be compared",
        explanation: "\
The reference cannot be computed from the arrays of this run, or an output does not have as many elements as it.
The note says what does not fit.",
    },
    CodeInfo {
        code: Code(533),
        title: "an output differs from its reference",
        explanation: "\
Some elements are further from what the output was compared with than rounding explains: the tolerance follows from the
length of the sums, the sizes of what they add up, and the type of the output (`docs/reference/checks.md`).
The notes name the worst element. NaN in made-up data stand in cache slots of no request: an output that is NaN comes
from reading past the tokens of a request, or from 0/0 and (-inf) - (-inf) for an empty one.",
    },
    CodeInfo {
        code: Code(534),
        title: "nothing to check results with",
        explanation: "\
A run was to be checked, and no element was compared: no kernel stores to an output, or the outputs have no elements, or every
element of an output is NaN, which is equal to nothing. A store after a `return` does not run, and makes no output. Or a benchmark was to check a program without `PTO_REFERENCE`: add
one, or run with `--no-check`.",
    },
    CodeInfo {
        code: Code(537),
        title: "elements of an output were never written",
        explanation: "\
A run that checks (`--check`, on by itself for made-up data) or `--strict` records what tasks store. Elements of an
output that no task stored hold zeros or made-up values, which nothing computed. The note names the first.
Usually the space, the tiles or an index leave out a part, or loads past the end of an axis gave tiles of no rows.
An output that keeps a part of what it began with is an input too: give its array. Elements that a task loads before any
stores them are inputs as well. An output to which tasks have stored nothing at all is reported also where its array is given.
An output that is meant to be written in part, or not at all, is named with `--allow-unwritten NAME`.
The code is also that of an array of the launch that no kernel loads from or stores to.",
    },
    CodeInfo {
        code: Code(538),
        title: "an output is NaN or infinite",
        explanation: "\
Some elements of an output are NaN, or all are infinite, and the output was compared with nothing but the same program, which
makes the same. Where every input is finite, look for 0 / 0, 1 / 0, inf - inf, or the logarithm or the root of a negative
number. Where an input has NaN or infinity, the code is an error of `--strict` only. Where it is meant, name a `PTO_REFERENCE`
that gives it too, or run with `--no-check`.",
    },
    CodeInfo {
        code: Code(539),
        title: "no such output",
        explanation: "\
`--allow-unwritten NAME` names an output of the program that tasks are meant to write a part of. No output has this name.",
    },
    CodeInfo {
        code: Code(540),
        title: "not a decode attention case",
        explanation: "\
A file of reference cases lacks an entry or holds values that cannot be; the note says which.",
    },
    CodeInfo {
        code: Code(541),
        title: "a peer of a benchmark failed",
        explanation: "\
`wsp bench decode --peers` runs the programs of `benches/peers/decode` beside the measured one. One of them ended before
it was told to, or printed something else than the lines that `benches/peers/decode/README.md` describes; the note shows
the end of what it said. A peer that merely lacks its package is no error: it is left out, and the table says what to
type. The same code is reported when `--install` cannot install all of the peers.",
    },
    CodeInfo {
        code: Code(545),
        title: "nothing ran",
        explanation: "\
The program issued no task, so that no output was computed and nothing can be checked: an extent or a parameter is 0 or less,
or a batch is empty. The note names parameters that are. Where the run was to be checked this is an error, otherwise a
warning.",
    },
    CodeInfo {
        code: Code(546),
        title: "options that cannot be used together",
        explanation: "\
`--generate` makes up the whole batch of a program that takes a paged cache: pages, page tables and lengths belong together, and
are given together, with `--inputs` or `--input`, or made up together. Beside arrays that are given, single other arrays of such
a program are made up with `--fill NAME`, with the extents of the cache.",
    },
    CodeInfo {
        code: Code(547),
        title: "tasks load what none stores",
        explanation: "\
Tasks store elements of a tensor, and load others of it that no task stores. Nothing gives the tensor, so that these others are made up.
Usually the tasks that store it leave out a part: a bound, an index or a condition is wrong. The note names the first element.
A tensor of which a run updates a part, such as a cache that a step appends a row to, begins with elements: give its array with the
others, or name it with `--allow-unwritten NAME`. With `--strict` this is an error. A run that checks (on by itself for made-up
data), and one with `--strict`, looks for it; paged caches are exempt.",
    },
    CodeInfo {
        code: Code(548),
        title: "the command line is wrong",
        explanation: "\
An option, a value or a command is misspelt, missing, or not taken there. The message names it, and the help says what to type; `wsp COMMAND --help`
lists what a command takes. The exit status is 2. With `--error-format json` this is one object, as every error is; for people
it is printed without the code.",
    },
];
