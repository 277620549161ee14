//! Names of a launch: what is given is known and of the right kind, and nothing is missing.

use super::super::codes;
use super::BESIDE_FILES;
use crate::ParamValue;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::workload::{ParamSource, WorkloadModule};
use wsp_ordered::OrderedMap;

/// The values given for parameters, by id.
///
/// # Errors
/// Names that the module does not have, values that are no 64-bit integers, and whatever is missing.
pub(super) fn given(
    module: &WorkloadModule,
    set: &[(String, ParamValue)],
    tables: &OrderedMap<String, Vec<i64>>,
) -> Result<Vec<Option<i64>>, Vec<Diagnostic>> {
    let mut found = Vec::new();
    let mut values = vec![None; module.params.len()];
    for (name, value) in set {
        match param_value(module, name, *value) {
            Ok((index, value)) => values[index] = Some(value),
            Err(diagnostic) => found.push(*diagnostic),
        }
    }
    let unknown = tables.keys().filter(|name| module.table_named(name).is_none());
    found.extend(unknown.map(|name| unknown_table(module, name)));
    found.extend(missing(module, set, tables));
    if found.is_empty() { Ok(values) } else { Err(found) }
}

/// Gives parameters these values by default.
///
/// # Errors
/// Names that the module does not have, and values that are no 64-bit integers.
pub fn set_defaults(
    module: &mut WorkloadModule,
    set: &[(String, ParamValue)],
) -> Result<(), Vec<Diagnostic>> {
    let mut found = Vec::new();
    for (name, value) in set {
        match param_value(module, name, *value) {
            Ok((index, value)) => module.params[index].source = ParamSource::Set(Some(value.into())),
            Err(diagnostic) => found.push(*diagnostic),
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// The index and value of one `--set`.
fn param_value(
    module: &WorkloadModule,
    name: &str,
    value: ParamValue,
) -> Result<(usize, i64), Box<Diagnostic>> {
    let index = module.params.iter().position(|param| param.name == name);
    let Some(index) = index else { return Err(Box::new(unknown_param(module, name))) };
    let param = &module.params[index];
    if matches!(param.source, ParamSource::Derived(_)) {
        let diagnostic =
            Diagnostic::error(codes::WRONG_KIND, format!("`{name}` is derived and cannot be set"))
                .at(param.span, "derived here")
                .help("set the parameters that it is derived from, or declare it with `param`")
                .python("give the sizes that it follows from");
        return Err(Box::new(diagnostic));
    }
    let shown = match value {
        ParamValue::Int(value) => match i64::try_from(value) {
            Ok(value) => return Ok((index, value)),
            Err(_) => format!("{value}, which does not fit into 64 bits"),
        },
        ParamValue::Float(value) => format!("the real number {value}"),
        ParamValue::Bool(value) => format!("the truth value {value}"),
    };
    let diagnostic = Diagnostic::error(codes::WRONG_KIND, format!("parameter `{name}` takes an integer"))
        .at(param.span, "declared here")
        .note(format!("it is set to {shown}"))
        .help(format!("write `--set {name}=N`"))
        .python(format!("give an integer: `{name}=128`"));
    Err(Box::new(diagnostic))
}

fn unknown_param(module: &WorkloadModule, name: &str) -> Diagnostic {
    let message = format!("there is no parameter `{name}`");
    let diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, message);
    if module.table_named(name).is_some() {
        return diagnostic.help(format!("`{name}` is a table: bind it with `--input {name}=FILE.npy`"));
    }
    let settable = || {
        let params = module.params.iter().filter(|param| matches!(param.source, ParamSource::Set(_)));
        params.map(|param| param.name.as_str())
    };
    if let Some(meant) = did_you_mean(name, settable()) {
        return diagnostic.help(format!("did you mean `{meant}`?"));
    }
    let names: Vec<&str> = settable().collect();
    diagnostic.help(listed("parameters", &names))
}

fn unknown_table(module: &WorkloadModule, name: &str) -> Diagnostic {
    let message = format!("there is no table `{name}`");
    let diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, message);
    if module.param_named(name).is_some() {
        return diagnostic.help(format!("`{name}` is a parameter: set it with `--set {name}=N`"));
    }
    let names = || module.tables.iter().map(|table| table.name.as_str());
    if let Some(meant) = did_you_mean(name, names()) {
        return diagnostic.help(format!("did you mean `{meant}`?"));
    }
    let names: Vec<&str> = names().collect();
    diagnostic.help(listed("tables", &names))
}

/// `the parameters are a, b`, or that there are none.
fn listed(what: &str, names: &[&str]) -> String {
    if names.is_empty() {
        format!("the workload has no {what}")
    } else {
        format!("the {what} are {}", names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "))
    }
}

/// One finding that names everything without a value.
fn missing(
    module: &WorkloadModule,
    set: &[(String, ParamValue)],
    tables: &OrderedMap<String, Vec<i64>>,
) -> Option<Diagnostic> {
    let params = module.params.iter().filter(|param| {
        matches!(param.source, ParamSource::Set(None)) && !set.iter().any(|(name, _)| *name == param.name)
    });
    let params = params.map(|param| (&param.name, param.span, format!("--set {}=N", param.name)));
    let unbound = module.tables.iter().filter(|t| t.values.is_none() && !tables.contains_key(&t.name));
    let unbound = unbound.map(|t| (&t.name, t.span, format!("--input {}=FILE.npy", t.name)));
    let all: Vec<_> = params.chain(unbound).collect();
    let (_, first, _) = all.first()?;
    let names: Vec<String> = all.iter().map(|(name, ..)| format!("`{name}`")).collect();
    let typed: Vec<&str> = all.iter().map(|(.., typed)| typed.as_str()).collect();
    let verb = if all.len() == 1 { "has no value" } else { "have no value" };
    let mut diagnostic =
        Diagnostic::error(codes::MISSING_VALUES, format!("{} {verb}", names.join(", "))).at(*first, "");
    for (_, span, _) in &all[1..] {
        diagnostic = diagnostic.label(*span, "");
    }
    let diagnostic = diagnostic.help(format!("add `{}`", typed.join(" ")));
    let binds_files = typed.iter().any(|typed| typed.starts_with("--input"));
    Some(if binds_files && !module.tensors.is_empty() { diagnostic.help(BESIDE_FILES) } else { diagnostic })
}
