//! Values of the scalars that a unit declares.

use super::codes;
use wsp_core::tg::GraphNo;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::tg::{ArgDecl, Namespace, TgModule};

/// Values by declaration: those given, else their defaults.
///
/// # Errors
/// Names that are not declared, values that do not fit, declarations without a value.
pub(crate) fn values(module: &TgModule, given: &[(String, i64)]) -> Result<Vec<i64>, Vec<Diagnostic>> {
    let mut values: Vec<Option<i64>> = module.args.iter().map(|arg| arg.default).collect();
    let mut faults = Vec::new();
    for (name, value) in given {
        match find(module, name).and_then(|at| fits(module, &module.args[at], *value).map(|()| at)) {
            Ok(at) => values[at] = Some(*value),
            Err(fault) => faults.push(*fault),
        }
    }
    for (arg, value) in module.args.iter().zip(&values) {
        if value.is_none() && !given.iter().any(|(name, _)| name == module.str(arg.name)) {
            let name = module.str(arg.name);
            faults.push(
                Diagnostic::error(codes::BAD_ARGUMENT, format!("`{name}` has no value"))
                    .at(arg.span, "declared here without a default")
                    .help(format!("give one: `--set {name}=VALUE`"))
                    .python(format!("give one: `graph.run(…, scalars={{\"{name}\": 1}})`")),
            );
        }
    }
    if faults.is_empty() {
        Ok(values.into_iter().map(Option::unwrap_or_default).collect())
    } else {
        Err(faults)
    }
}

/// The declaration with this name.
///
/// # Errors
/// When there is none.
pub(crate) fn find(module: &TgModule, name: &str) -> Result<usize, Box<Diagnostic>> {
    if let Some(at) = module.args.iter().position(|arg| module.str(arg.name) == name) {
        return Ok(at);
    }
    let fault = Diagnostic::error(codes::BAD_ARGUMENT, format!("the unit declares no scalar `{name}`"));
    let names: Vec<&str> = module.args.iter().map(|arg| module.str(arg.name)).collect();
    Err(Box::new(match did_you_mean(name, names.iter().copied()) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None if names.is_empty() => fault.note("the unit declares none"),
        None => fault.note(format!("scalars: {}", names.join(", "))),
    }))
}

/// Checks a value against the type of its declaration.
///
/// # Errors
/// It does not fit.
pub(crate) fn fits(module: &TgModule, arg: &ArgDecl, value: i64) -> Result<(), Box<Diagnostic>> {
    let (low, high) = arg.ty.bounds();
    if (low..=high).contains(&value) {
        return Ok(());
    }
    let message = format!("`{}` is {value}, and takes {low} to {high}", module.str(arg.name));
    Err(Box::new(Diagnostic::error(codes::BAD_ARGUMENT, message).at(arg.span, "declared here")))
}

/// The numbers of external events with these names.
///
/// # Errors
/// Names of no external event.
pub(crate) fn event(module: &TgModule, name: &str) -> Result<u32, Box<Diagnostic>> {
    let called = |no: u32| module.name(Namespace::Event, GraphNo(0), no);
    let found = module.extern_events.iter().find(|(event, _)| called(event.0) == name);
    if let Some((event, _)) = found {
        return Ok(event.0);
    }
    let all: Vec<String> = module.extern_events.iter().map(|(event, _)| called(event.0)).collect();
    let fault = Diagnostic::error(codes::UNKNOWN_NAME, format!("there is no external event `{name}`"));
    Err(Box::new(match did_you_mean(name, all.iter().map(String::as_str)) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None if all.is_empty() => fault.note("the unit declares none"),
        None => fault.note(format!("external events: {}", all.join(", "))),
    }))
}
