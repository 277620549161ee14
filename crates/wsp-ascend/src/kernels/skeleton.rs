//! What stands around the statements of a kernel: headers, helpers, the function of the kernel, and the entry that a device calls.

use super::pair::Pair;
use super::scalars::{Number, Scalars};
use super::view::CElem;
use super::{codes, exchange};
use crate::writer::Writer;
use wsp_core::TensorId;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::ScalarTy;

/// Tensors and numbers of one task.
const MOST: [usize; 2] = [32, 16];

/// The header that refuses versions.
const VERSIONS: &str = "pto/wsp/version.hpp";

/// Functions that bodies use. A difference of numbers without a sign is 0 at least: rows that are counted so are none, and not those of a
/// whole tile. Elements of tensors that single instructions do not move are read and written by the scalar unit. On the
/// host, `of_buffer` says which tiles are of one buffer.
const HELPERS: &str = "\
template <typename T> AICORE inline T smaller(T a, T b) { return a < b ? a : b; }
template <typename T> AICORE inline T larger(T a, T b) { return a > b ? a : b; }
template <typename T> AICORE inline T ceil_div(T a, T b) { return a / b + (a % b != 0 && (a < T{}) == (b < T{}) ? 1 : 0); }
template <typename T> AICORE inline T minus(T a, T b) { return a > b ? a - b : 0; }
#if defined(PTO_HOST)
template <typename T> AICORE inline void of_buffer(T& tile, uint32_t buffer) { pto::host::of_buffer(tile, buffer); }
template <typename T> AICORE inline T element(__gm__ T* at, int64_t i) { return pto::host::load_scalar(at + i); }
template <typename T, typename V> AICORE inline void set_element(__gm__ T* at, int64_t i, V value) {
    pto::host::store_scalar(at + i, static_cast<T>(value));
}
#else
template <typename T> AICORE inline void of_buffer(T&, uint32_t) {}
template <typename T> AICORE inline T element(__gm__ T* at, int64_t i) { return at[i]; }
template <typename T, typename V> AICORE inline void set_element(__gm__ T* at, int64_t i, V value) {
    at[i] = static_cast<T>(value);
}
#endif
";

/// Divisions of whole numbers: on the host, of what runs kernels there, a wrong one is a fault that names its place in the source. There the left
/// one of two operands comes first.
const DIVISIONS: &str = "\
#ifndef WSP_DIVIDED
#if defined(PTO_HOST)
#define WSP_DIVIDED(a, b, place) pto::host::divided(pto::host::Both{a, b}, place)
#define WSP_REMAINDER(a, b, place) pto::host::remainder(pto::host::Both{a, b}, place)
#define WSP_CEIL_DIVIDED(a, b, place) pto::host::ceil_divided(pto::host::Both{a, b}, place)
#define WSP_JOINED(a, sign, b) (pto::host::in_order(pto::host::Both{a, b}, [](auto left, auto right) { return left sign right; }))
#define WSP_CALLED(function, a, b) pto::host::in_order(pto::host::Both{a, b}, [](auto left, auto right) { return function(left, right); })
#else
#define WSP_DIVIDED(a, b, place) ((a) / (b))
#define WSP_REMAINDER(a, b, place) ((a) % (b))
#define WSP_CEIL_DIVIDED(a, b, place) ceil_div(a, b)
#define WSP_JOINED(a, sign, b) ((a) sign (b))
#define WSP_CALLED(function, a, b) function(a, b)
#endif
#endif
";

/// Which core of a pair runs the text. On the host one after the other does, and says which.
const HELPERS_OF_PAIR: &str = "\
#if defined(PTO_HOST)
constexpr bool is_cube = true;
constexpr bool is_vector = true;
AICORE inline void on_cube() { pto::host::on_core(pto::host::Side::Cube); }
AICORE inline void on_vector() { pto::host::on_core(pto::host::Side::Vector); }
#else
#if defined(__DAV_CUBE__)
constexpr bool is_cube = true;
#else
constexpr bool is_cube = false;
#endif
#if defined(__DAV_VEC__)
constexpr bool is_vector = true;
#else
constexpr bool is_vector = false;
#endif
AICORE inline void on_cube() {}
AICORE inline void on_vector() {}
#endif
";

/// Functions that what runs tasks uses; it is compiled without the instruction library.
const HELPERS_OF_TASKS: &str = "\
template <typename T> inline T smaller(T a, T b) { return a < b ? a : b; }
template <typename T> inline T larger(T a, T b) { return a > b ? a : b; }
template <typename T> inline T ceil_div(T a, T b) { return a / b + (a % b != 0 && (a < T{}) == (b < T{}) ? 1 : 0); }
template <typename T> inline T minus(T a, T b) { return a > b ? a - b : 0; }
template <typename T> inline T element(const T* at, int64_t i) { return at[i]; }
";

/// What a function takes.
struct Signature {
    /// With types.
    parameters: Vec<String>,
    /// The same, out of the words of a task.
    unpacked: Vec<String>,
    names: Vec<String>,
}

/// What a function takes; `most` bounds the numbers of tensors and of numbers.
fn signature(
    name: &str,
    scalars: &Scalars<'_>,
    span: Span,
    most: [usize; 2],
) -> Result<Signature, Vec<Diagnostic>> {
    let (tensors, numbers) = {
        let arguments = scalars.arguments.borrow();
        let tensors: Vec<TensorId> = arguments.tensors.iter().copied().collect();
        let numbers: Vec<Number> = arguments.numbers.iter().copied().collect();
        (tensors, numbers)
    };
    let mut found = Vec::new();
    let kinds = [
        (tensors.len(), "tensors", "split the kernel, or make one tensor of several with one more dimension"),
        (
            numbers.len(),
            "numbers",
            "set parameters, or use fewer fields of the descriptor, or fewer caches: each takes 3 numbers",
        ),
    ];
    for ((have, what, help), most) in kinds.into_iter().zip(most) {
        if have > most {
            let message = format!("`{name}` takes {have} {what}; a task has room for {most}");
            found.push(Diagnostic::error(codes::TOO_MANY, message).at(span, "").help(help));
        }
    }
    let mut parameters = Vec::new();
    let mut unpacked = Vec::new();
    for (at, id) in tensors.iter().enumerate() {
        let elem = scalars.elem_of(*id).and_then(CElem::of);
        let Some(elem) = elem else {
            let message =
                format!("the elements of tensor `{}` are not known at emission", scalars.tensor_name(*id));
            found.push(
                Diagnostic::error(codes::NOT_EMITTED, message).at(span, "").help("declare its element type"),
            );
            continue;
        };
        let elem = elem.name();
        parameters.push(format!("__gm__ {elem}* {}", scalars.tensor_name(*id)));
        unpacked.push(format!("{name}_kernel::tensor_of<{elem}>(args[{at}])"));
    }
    for (at, number) in numbers.iter().enumerate() {
        let (ty, at) = (scalars.type_of(*number), tensors.len() + at);
        // Which of the distances of a page a kernel uses depends on the indices of its loads.
        let perhaps = if matches!(number, Number::Pages(..)) { "[[maybe_unused]] " } else { "" };
        parameters.push(format!("{perhaps}{} {}", ty.c_name(), scalars.name_of(*number)));
        unpacked.push(unpack(ty, at));
    }
    let named = |parameter: &String| parameter.rsplit(' ').next().unwrap_or_default().to_owned();
    let names: Vec<String> = parameters.iter().map(named).collect();
    for (at, twice) in names.iter().enumerate().filter(|(at, name)| names[..*at].contains(name)) {
        let message =
            format!("arguments {} and another of `{name}` are both called `{twice}` in C++", at + 1);
        let fault = Diagnostic::error(codes::SAME_NAME, message).at(span, "");
        found.push(fault.help("give them names that differ in more than underscores"));
    }
    if found.is_empty() { Ok(Signature { parameters, unpacked, names }) } else { Err(found) }
}

/// A file for what runs the tasks of a kernel.
pub(super) fn tasks_file(
    name: &str,
    target: &str,
    body: &str,
    scalars: &Scalars<'_>,
    span: Span,
) -> Result<String, Vec<Diagnostic>> {
    let Signature { mut parameters, names, .. } = signature(name, scalars, span, [usize::MAX; 2])?;
    parameters.insert(0, "Tasks& tasks".to_owned());
    let mut out = Writer::default();
    out.line(format!("// Tasks of kernel `{name}` for {target}, one after another: `tasks` has a function for each, which runs it."));
    out.line("// Tensors are row-major, without gaps; those called `exchange` are of this task alone, and begin with any contents.");
    out.line(format!("// Arguments after `tasks`, in their order: {}.", names.join(", ")));
    for id in &scalars.arguments.borrow().tensors {
        if let (Some([rows, cols]), Some(elem)) =
            (exchange::size(&scalars.module.tensors[id.index()]), scalars.elem_of(*id).and_then(CElem::of))
        {
            out.line(format!("// `{}`: {rows} x {cols} of {}.", scalars.tensor_name(*id), elem.name()));
        }
    }
    out.line("// For PTO-ISA 1.0 and later 1.x, and CANN 8.0 and later.");
    for header in ["cstdint", "cstddef", "cmath", "limits"] {
        out.line(format!("#include <{header}>"));
    }
    out.line("");
    out.line("#ifndef __gm__");
    out.line("#define __gm__");
    out.line("#endif");
    divisions(&mut out, body);
    out.line("");
    out.line(format!("namespace {name}_kernel {{"));
    HELPERS_OF_TASKS.lines().for_each(|line| out.line(line));
    out.line("");
    out.line(format!("template <typename Tasks> inline void {name}_tasks({})", parameters.join(", ")));
    body.lines().for_each(|line| out.line(line));
    out.line(format!("}}  // namespace {name}_kernel"));
    Ok(out.finish())
}

/// A file for a body.
pub(super) fn file(
    name: &str,
    target: &str,
    body: &str,
    (scalars, pair): (&Scalars<'_>, Option<&Pair>),
    span: Span,
) -> Result<String, Vec<Diagnostic>> {
    let Signature { parameters, unpacked, names } = signature(name, scalars, span, MOST)?;
    let mut out = Writer::default();
    out.line(format!("// Kernel `{name}` for {target}. Tensors are row-major, without gaps."));
    out.line(format!(
        "// Arguments, in their order: {}.",
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    ));
    if pair.is_some() {
        out.line("// One task for a cube core and the first of its vector cores: each compiles this file for itself.");
    }
    for header in ["cstdint", "cstddef", "cmath", "limits"] {
        out.line(format!("#include <{header}>"));
    }
    out.line("#include <pto/pto-inst.hpp>");
    out.line("");
    // A kernel includes no header of this project: it says itself what the header of versions says.
    let versions = crate::headers::text(VERSIONS).lines();
    versions.skip_while(|line| !line.starts_with("#if")).for_each(|line| out.line(line));
    out.line("");
    for (word, value) in [("__gm__", ""), ("__aicore__", " [aicore]")] {
        out.line(format!("#ifndef {word}"));
        out.line(format!("#define {word}{value}"));
        out.line("#endif");
    }
    divisions(&mut out, body);
    out.line("");
    out.line(format!("namespace {name}_kernel {{"));
    out.line("using namespace pto;");
    out.line("");
    let helpers = HELPERS.lines().chain(pair.iter().flat_map(|_| HELPERS_OF_PAIR.lines()));
    helpers.for_each(|line| out.line(line));
    out.line("");
    out.line(format!("AICORE inline void {name}_body({})", parameters.join(", ")));
    body.lines().for_each(|line| out.line(line));
    out.line(format!("}}  // namespace {name}_kernel"));
    out.line("");
    out.line("#ifndef WSP_BODY_ONLY");
    out.line("#include \"tensor.h\"");
    out.line("using namespace pto;");
    out.line("#include \"pipe_sync.h\"");
    if pair.is_some() {
        out.line("#include \"intrinsic.h\"");
    }
    out.line("");
    out.line(format!("namespace {name}_kernel {{"));
    out.line("template <typename T> AICORE inline __gm__ T* tensor_of(int64_t argument) {");
    out.line("    __gm__ ChipTensor* tensor = reinterpret_cast<__gm__ ChipTensor*>(argument);");
    out.line("    return reinterpret_cast<__gm__ T*>(tensor->buffer.addr) + tensor->start_offset;");
    out.line("}");
    out.line(format!("}}  // namespace {name}_kernel"));
    out.line("");
    let args = if unpacked.is_empty() && pair.is_none() { "" } else { " args" };
    out.open(format!("extern \"C\" __aicore__ void kernel_entry(__gm__ int64_t*{args}) {{"));
    if pair.is_some() {
        // The second vector core of a task has no part in it.
        out.line(format!("if ({name}_kernel::is_vector && get_sub_block_id(args) != 0) {{ return; }}"));
    }
    out.line(format!("{name}_kernel::{name}_body({});", unpacked.join(", ")));
    out.line("pipe_sync();");
    out.close("}");
    out.line("#endif");
    Ok(out.finish())
}

/// What the divisions of a body need.
fn divisions(out: &mut Writer, body: &str) {
    let names = ["WSP_DIVIDED(", "WSP_REMAINDER(", "WSP_CEIL_DIVIDED(", "WSP_JOINED(", "WSP_CALLED("];
    if names.iter().any(|name| body.contains(name)) {
        out.line("");
        DIVISIONS.lines().for_each(|line| out.line(line));
    }
}

/// A number out of the words of a task.
fn unpack(ty: ScalarTy, at: usize) -> String {
    match ty {
        ScalarTy::F32 | ScalarTy::F64 => {
            format!("from_u64<{}>(static_cast<uint64_t>(args[{at}]))", ty.c_name())
        }
        ScalarTy::Bool => format!("args[{at}] != 0"),
        _ => format!("static_cast<{}>(args[{at}])", ty.c_name()),
    }
}
