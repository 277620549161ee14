//! What `wsp run` writes: tried before the work, complete before it has its name.

use crate::args::{Replayed, RunArgs};
use crate::files::{Filled, Output, place};
use pto_wsp::codes;
use std::path::{Path, PathBuf};
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_plan::Arrays;
use wsp_report::{Edges, Form, write_trace};
use wsp_runtime::timeline::Timeline;

/// The files that options name.
pub(super) struct Written<'a> {
    /// Of arrays.
    pub(super) arrays: Option<&'a PathBuf>,
    /// Of the trace.
    pub(super) trace: Option<&'a PathBuf>,
    /// Whether the trace is to show all edges.
    pub(super) edges: bool,
}

/// The files that a run is to write.
#[derive(Debug)]
pub(super) struct Outputs {
    arrays: Option<Output>,
    trace: Option<(Output, Form)>,
    edges: Edges,
}

impl Outputs {
    /// Tries the files. What is written must not replace what is read, `used` and the arguments, nor each other.
    ///
    /// # Errors
    /// What hinders writing them.
    pub(super) fn of(args: &RunArgs, used: &[PathBuf]) -> Result<Outputs, Vec<Diagnostic>> {
        let inputs = args.data.inputs.iter().chain(args.data.input.iter().map(|(_, path)| path));
        let replayed = args.replay.as_ref().and_then(Replayed::trace);
        let read = inputs.chain([&args.file]).chain(&args.reference).chain(replayed).chain(used);
        let (arrays, trace) = (args.outputs.as_ref(), args.trace.as_ref());
        Outputs::new(&Written { arrays, trace, edges: args.trace_edges }, read.cloned())
    }

    /// Tries the files. What is written must not replace what is read, nor each other.
    ///
    /// # Errors
    /// What hinders writing them.
    pub(super) fn new(
        written: &Written<'_>,
        read: impl Iterator<Item = PathBuf>,
    ) -> Result<Outputs, Vec<Diagnostic>> {
        refuse_to_overwrite(written, read).map_err(|fault| vec![fault])?;
        let arrays = written.arrays.map(|path| Output::archive_at(path)).transpose();
        let edges = edges(written).map_err(|fault| vec![fault])?;
        let trace = written.trace.map(|path| trace_at(path)).transpose();
        match (arrays, trace) {
            (Ok(arrays), Ok(trace)) => Ok(Outputs { arrays, trace, edges }),
            (arrays, trace) => Err(arrays.err().into_iter().chain(trace.err()).collect()),
        }
    }

    /// Writes outputs and trace, where they were asked for, and says what could not be written.
    pub(super) fn fill(
        self,
        arrays: &Arrays,
        timeline: Option<&Timeline>,
    ) -> (Vec<Option<Filled>>, Vec<Diagnostic>) {
        let arrays = self.arrays.map(|output| output.fill_npz(arrays));
        let edges = self.edges;
        let trace = self.trace.zip(timeline).map(|((output, form), timeline)| {
            output.fill(&mut |out| write_trace(timeline, form, edges, out))
        });
        let (mut filled, mut faults) = (Vec::new(), Vec::new());
        for result in arrays.into_iter().chain(trace) {
            match result {
                Ok(one) => filled.push(Some(one)),
                Err(fault) => faults.push(fault),
            }
        }
        (filled, faults)
    }
}

/// Refuses names of `--allow-unwritten` that no output has.
///
/// # Errors
/// For each of them.
pub(super) fn check_allowed(allowed: &[String], outputs: &[String]) -> Result<(), Vec<Diagnostic>> {
    let unknown = allowed.iter().filter(|name| !outputs.contains(name)).map(|name| {
        let message = format!("`--allow-unwritten {name}`: the program has no output `{name}`");
        let fault = Diagnostic::error(codes::UNKNOWN_OUTPUT, message);
        match did_you_mean(name, outputs.iter().map(String::as_str)) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None if outputs.is_empty() => fault.help("leave it out: the program has no outputs"),
            None => fault.note(format!("its outputs are {}", outputs.join(", "))),
        }
    });
    let faults: Vec<Diagnostic> = unknown.collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Tries the file of a trace, whose name says its form. What has no name of its own, such as a pipe, takes JSON.
fn trace_at(path: &Path) -> Result<(Output, Form), Diagnostic> {
    let output = Output::data_at(path)?;
    let extension = path.extension().map(|end| end.to_string_lossy().into_owned());
    if let Some(form) = extension.as_deref().and_then(Form::of_extension) {
        return Ok((output, form));
    }
    if extension.is_none() && std::fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return Ok((output, Form::Json));
    }
    let name = path.display();
    let message = match extension {
        Some(end) => format!("`{name}` ends in `.{end}`, which is no form of traces"),
        None => format!("`{name}` has no extension, which says the form of a trace"),
    };
    let named = |form| path.with_extension(form).display().to_string();
    Err(Diagnostic::error(codes::CANNOT_WRITE, message)
        .note("traces are written as `.pftrace`, for Perfetto, and as `.json`, for `chrome://tracing` too")
        .help(format!("write `{}` or `{}`", named("pftrace"), named("json"))))
}

/// Which edges a trace shows.
fn edges(written: &Written<'_>) -> Result<Edges, Diagnostic> {
    match (written.edges, written.trace) {
        (false, _) => Ok(Edges::Last),
        (true, Some(_)) => Ok(Edges::All),
        (true, None) => Err(Diagnostic::error(codes::OPTIONS_CONTRADICT, "`--trace-edges` needs `--trace`")
            .help("add the file of the trace: `--trace FILE.pftrace`")),
    }
}

fn refuse_to_overwrite(files: &Written<'_>, read: impl Iterator<Item = PathBuf>) -> Result<(), Diagnostic> {
    let read: Vec<PathBuf> = read.map(|path| place(&path)).collect();
    let mut written: Vec<PathBuf> = Vec::new();
    for (option, path) in [("--outputs", files.arrays), ("--trace", files.trace)] {
        let Some(path) = path else { continue };
        let at = place(path);
        let name = path.display();
        let (code, what) = if read.contains(&at) {
            (codes::CANNOT_WRITE, format!("`{name}` is an input and would be overwritten"))
        } else if written.contains(&at) {
            (codes::OUTPUTS_COLLIDE, format!("`--outputs` and `{option}` both go to `{name}`"))
        } else {
            written.push(at);
            continue;
        };
        return Err(Diagnostic::error(code, what).help(format!("give `{option}` another name")));
    }
    Ok(())
}
