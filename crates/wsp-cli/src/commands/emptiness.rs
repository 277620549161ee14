//! Runs of no task: what to say of them.

use pto_wsp::codes;
use wsp_diag::{Code, Diagnostic};

/// A run of no task.
pub(super) struct Emptiness<'a> {
    /// What there was none of.
    pub(super) what: &'a str,
    /// Values that may be the reason.
    pub(super) empty: Vec<Empty<'a>>,
}

/// A value that is 0 or less.
pub(super) struct Empty<'a> {
    pub(super) name: &'a str,
    pub(super) value: i128,
    /// The option that gives it another one, if there is one.
    pub(super) option: Option<&'static str>,
    /// Whether the user has chosen it.
    pub(super) is_chosen: bool,
}

impl Emptiness<'_> {
    /// As an error or a warning.
    pub(super) fn diagnostic(&self, new: impl Fn(Code, String) -> Diagnostic) -> Diagnostic {
        let fault = new(codes::NOTHING_RAN, format!("nothing ran: {}", self.what));
        let values: Vec<String> =
            self.empty.iter().map(|Empty { name, value, .. }| format!("`{name}` is {value}")).collect();
        let fault = if values.is_empty() { fault } else { fault.note(values.join(", ")) };
        // A default of 0 may be meant where the user has chosen another value that is.
        let any_chosen = self.empty.iter().any(|of| of.is_chosen);
        let others = self.empty.iter().filter(|of| of.is_chosen == any_chosen);
        let options = others.filter_map(|of| Some(format!("{} {}=1", of.option?, of.name)));
        let options: Vec<String> = options.collect();
        let help = "choose values and arrays for which the loops have rounds";
        fault.help(match options.as_slice() {
            [] => help.to_owned(),
            _ => format!("{help}, such as `{}`", options.join(" ")),
        })
    }
}
