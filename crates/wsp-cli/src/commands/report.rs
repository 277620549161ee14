//! `wsp report`: one trace, or two of one program, as a page or as text.

use super::{Outcome, Session};
use crate::args::ReportArgs;
use crate::files::{Output, place, read_trace};
use crate::report::trace;
use pto_wsp::codes;
use std::path::Path;
use wsp_diag::Diagnostic;
use wsp_runtime::timeline::Timeline;

/// Reads traces, and reports them.
pub(super) fn report(session: &Session, args: &ReportArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let output = output(args).map_err(|fault| vec![fault])?;
    let files: Vec<&Path> =
        [Some(&args.file), args.other.as_ref()].into_iter().flatten().map(|file| file.as_path()).collect();
    session.terminal.progress("reading the trace");
    let read = |file: &&Path| {
        let name = file.display().to_string();
        let timeline = wsp_report::read(&name, &read_trace(file)?)?;
        Ok((name, timeline))
    };
    let traces: Vec<(String, Timeline)> =
        files.iter().map(read).collect::<Result<_, Diagnostic>>().map_err(|fault| vec![fault])?;
    if let [(name_a, a), (name_b, b)] = &traces[..] {
        wsp_report::pair([a, b], [name_a, name_b]).map_err(|fault| vec![fault])?;
    }
    if args.text {
        let mut text: Vec<String> = traces.iter().map(|(name, of)| trace::text(of, name)).collect();
        if let [(name_a, a), (name_b, b)] = &traces[..] {
            text.push(trace::difference([a, b], [name_a, name_b]));
        }
        // Names of a file may have what terminals take for commands.
        let turns = |letter: char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let is_command = |letter: char| letter.is_control() && letter != '\n' || turns(letter);
        session.terminal.print(&text.join("\n").replace(is_command, "\u{fffd}"));
    }
    let shown: Vec<(&str, &Timeline)> = traces.iter().map(|(name, of)| (name.as_str(), of)).collect();
    let filled = output.map(|output| output.fill(&mut |out| wsp_report::write(&shown, out))).transpose();
    session.keep([filled.map_err(|fault| vec![fault])?])
}

/// Tries the file of the page, before the work.
fn output(args: &ReportArgs) -> Result<Option<Output>, Diagnostic> {
    let contradict = |message: &str| Diagnostic::error(codes::OPTIONS_CONTRADICT, message);
    let Some(path) = &args.output else {
        if args.force {
            return Err(contradict("`--force` needs `--output`").help("name the page: `-o report.html`"));
        }
        if !args.text {
            let fault = contradict("the report has nowhere to go");
            return Err(fault.help("name a page: `-o report.html`, or print it: `--text`"));
        }
        return Ok(None);
    };
    let read = [Some(&args.file), args.other.as_ref()];
    if read.into_iter().flatten().any(|file| place(file) == place(path)) {
        let message = format!("`{}` is a trace and would be overwritten", path.display());
        return Err(Diagnostic::error(codes::CANNOT_WRITE, message).help("give `--output` another name"));
    }
    if !args.force && path.is_file() {
        let message = format!("`{}` exists", path.display());
        return Err(Diagnostic::error(wsp_report::REPORT_EXISTS, message)
            .help("give `--output` another name, or add `--force` to replace it"));
    }
    Output::page_at(path).map(Some)
}
