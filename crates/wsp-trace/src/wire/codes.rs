//! The codes of documents.
//!
//! Users do not write traces. One of these means that a front end and a compiler are of different releases, that a document is damaged,
//! or that there is a fault of ours.

wsp_diag::codes! {
    pub(crate) NOT_JSON = 1300, "a trace is not JSON",
        "\
A trace is one JSON document in UTF-8. The message says what a reader of JSON expected, the note at which line and column of
the document. NaN and infinities are no numbers of JSON: a trace writes them as the texts \"nan\", \"inf\" and \"-inf\". No
object has two fields of one name. A document that breaks off was not written to its end.";
    pub(crate) TOO_LARGE = 1301, "a trace is too large",
        "\
A trace has at most 64 MiB and 8,388,608 JSON values, 32 fields in an object, 1024 bytes in a name, and 256 formal arguments of
a workload, parameters of a kernel and directives of a schedule. Lists and objects nest as deep as the statements and
expressions need that a verifier accepts. Where a program came from a loop of the front end's language that was unrolled,
write the loop as one of the workload or the kernel; bind large tables when the program runs, instead of giving their values.";
    pub(crate) VERSION = 1302, "a trace is of another format or version",
        "\
The field `format` is \"pto-wsp-trace\" and `version` is 1. Another version belongs to another release: use the front end and
the compiler of one release.";
    pub(crate) UNKNOWN_FIELD = 1303, "a trace has an unknown field",
        "\
Every object of a trace has a form, which its field `k` names or its place gives, and the fields of that form only: a misspelt
one would otherwise be left out silently. The note lists what the form has. A field that has no meaning beside another one
counts as unknown, such as `n` beside `\"mode\": \"immediate\"`.";
    pub(crate) MISSING_FIELD = 1304, "a trace lacks a field",
        "\
The form of the object needs the field. `null` counts as absent. Lists may be absent and are then empty, and so may truth
values, which are then false.";
    pub(crate) WRONG_VALUE = 1305, "a field of a trace has an impossible value",
        "\
The value has another type than the field, or lies outside its range: an id is a whole number from 0, integers of workloads have
64 bits, lines count from 1, a number of type `f32` is not past the largest one.";
    pub(crate) UNKNOWN_WORD = 1306, "a word of a trace is unknown",
        "\
Forms, operators, element types, roles and modes are words of fixed sets. The note lists those that may stand at the place.";
    pub(crate) UNKNOWN_ID = 1307, "a number of a trace names nothing",
        "\
Places, files, views and scalar parameters are named by their index in the list of the trace that has them. Ids of workloads
and kernels are checked by their verifiers, WSP0761 and WSP0301.";
    pub(crate) BODY = 1308, "the body of a kernel does not fit the kernel",
        "\
There is one body per kernel of the workload, in its order. A kernel of a used file has the body `library`, a declared one any
other. A compiled body has one view per tensor parameter, and a view keeps one or more dimensions of its region in rising order,
with an extent, or `null`, for each.";
}
