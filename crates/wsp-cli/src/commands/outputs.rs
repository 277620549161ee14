//! What `wsp run` writes: tried before the work, complete before it has its name.

use crate::args::RunArgs;
use crate::files::{Filled, Output, place};
use pto_wsp::codes;
use std::io::Write;
use std::path::PathBuf;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_plan::Arrays;

/// The files that a run is to write.
#[derive(Debug)]
pub(super) struct Outputs {
    arrays: Option<Output>,
    trace: Option<Output>,
}

impl Outputs {
    /// Tries the files. What is written must not replace what is read, `used` and the arguments, nor each other.
    ///
    /// # Errors
    /// What hinders writing them.
    pub(super) fn of(args: &RunArgs, used: &[PathBuf]) -> Result<Outputs, Vec<Diagnostic>> {
        refuse_to_overwrite(args, used).map_err(|fault| vec![fault])?;
        let arrays = args.outputs.as_ref().map(|path| Output::archive_at(path)).transpose();
        let trace = args.trace.as_ref().map(|path| Output::data_at(path)).transpose();
        match (arrays, trace) {
            (Ok(arrays), Ok(trace)) => Ok(Outputs { arrays, trace }),
            (arrays, trace) => Err(arrays.err().into_iter().chain(trace.err()).collect()),
        }
    }

    /// Writes outputs and trace, where they were asked for, and says what could not be written.
    pub(super) fn fill(
        self,
        arrays: &Arrays,
        trace: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>,
    ) -> (Vec<Option<Filled>>, Vec<Diagnostic>) {
        let arrays = self.arrays.map(|output| output.fill_npz(arrays));
        let trace = self.trace.map(|output| output.fill(trace));
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

fn refuse_to_overwrite(args: &RunArgs, used: &[PathBuf]) -> Result<(), Diagnostic> {
    let inputs = args.data.inputs.iter().chain(args.data.input.iter().map(|(_, path)| path));
    let read: Vec<PathBuf> =
        inputs.chain([&args.file]).chain(&args.reference).chain(used).map(|path| place(path)).collect();
    let mut written: Vec<PathBuf> = Vec::new();
    for (option, path) in [("--outputs", &args.outputs), ("--trace", &args.trace)] {
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
