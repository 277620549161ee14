//! Reads trace files: all that `wsp_runtime::timeline` writes, and nothing else.
//!
//! Readers are total: whatever the bytes are, there is a timeline whose tasks, rows and kernels exist, or a diagnostic.

mod header;
mod json;
mod perfetto;
mod tasks;
mod wire;

use crate::codes::{BAD_TRACE, CUT_TRACE, NOT_A_TRACE, TOO_MANY_TASKS, TRACE_VERSION};
use crate::write::VERSION;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_runtime::timeline::Timeline;

/// Most tasks of a trace that is read.
pub const MAX_TASKS: u64 = 1 << 22;

/// Most bytes of a trace that is read: as JSON with all edges a task takes some hundred.
pub const MAX_BYTES: u64 = 1 << 32;

/// What is wrong with a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// It is of another kind.
    Foreign,
    /// It ends too early, with so many tasks of so many.
    Cut(u64, u64),
    /// It has this version.
    Version(u64),
    /// It has so many tasks.
    TooMany(u64),
    /// It says something that cannot be, about at this byte.
    Bad(&'static str, usize),
}

type Found<T> = Result<T, Fault>;

/// The timeline in the bytes of a trace file, which is called `name` in messages.
///
/// # Errors
/// It is no trace of this version, was cut off or damaged, or has more than [`MAX_TASKS`] tasks.
pub fn read(name: &str, bytes: &[u8]) -> Result<Timeline, Diagnostic> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let read = match first {
        Some(b'{') => json::read(bytes),
        _ => perfetto::read(bytes),
    };
    read.map_err(|fault| told(name, fault))
}

fn told(name: &str, fault: Fault) -> Diagnostic {
    let ends = || Diagnostic::error(CUT_TRACE, format!("`{name}` ends too early"));
    let told = match fault {
        Fault::Foreign => {
            return Diagnostic::error(NOT_A_TRACE, format!("`{name}` is no trace that wsp has written"))
                .help("make one: `wsp run FILE --trace trace.pftrace`, or `wsp sim FILE --model NAME --trace trace.pftrace`")
                .python("make one with `program.trace(\"trace.pftrace\")`");
        }
        Fault::TooMany(tasks) => {
            let message = format!("`{name}` has {}", counted(tasks, "task"));
            return Diagnostic::error(TOO_MANY_TASKS, message)
                .note(format!("a report holds at most {}", counted(MAX_TASKS, "task")))
                .help("trace a smaller run");
        }
        Fault::Cut(found, 0) => ends().note(format!("the file ends behind {}", counted(found, "task"))),
        Fault::Cut(found, of) if found == of => {
            ends().note(format!("what is behind its {} is not there", counted(of, "task")))
        }
        Fault::Cut(found, of) => ends().note(format!("it has {found} of its {}", counted(of, "task"))),
        Fault::Version(version) => {
            let what = format!("a trace of version {version}, and this program reads version {VERSION}");
            Diagnostic::error(TRACE_VERSION, format!("`{name}` is {what}"))
        }
        Fault::Bad(what, at) => {
            let fault = Diagnostic::error(BAD_TRACE, format!("`{name}` is damaged: {what}"));
            fault.note(format!("at about byte {at}"))
        }
    };
    told.help("write it again with `wsp run --trace` or `wsp sim --trace`")
        .python("write it again with `program.trace(path)`")
}
