//! `wsp doctor`: this machine as the program sees it.

use super::{Outcome, measure, models};
use crate::args::DoctorArgs;
use crate::files::{Output, keep_last};
use crate::machine;
use crate::report::bytes;
use crate::terminal::Terminal;
use serde_json::json;
use wsp_diag::Diagnostic;
use wsp_kernel::Engine;

/// Prints what kernels and benchmarks depend on, or measures a machine model.
pub(super) fn doctor(terminal: &Terminal, args: &DoctorArgs) -> Result<Outcome, Vec<Diagnostic>> {
    if args.model {
        let output = args.output.as_deref().map(|path| Output::assembled_at(path, "toml")).transpose();
        let output = output.map_err(|fault| vec![fault])?;
        let model = measure::model()?;
        match output {
            Some(output) => {
                let filled = output.fill_text(&model.to_text()).and_then(|filled| keep_last(vec![filled]));
                filled.map_err(|fault| vec![fault])?;
            }
            None if args.json => terminal.print_json(&models::as_json(&model)),
            None => terminal.print(&model.to_text()),
        }
    } else if args.json {
        terminal.print_json(&as_json());
    } else {
        terminal.print(&text());
    }
    Ok(Outcome::Done)
}

fn text() -> String {
    let unknown = || "unknown".to_owned();
    let size = |n: Option<u64>| n.map_or_else(unknown, bytes);
    let features: Vec<&str> = machine::features().iter().filter(|f| f.present).map(|f| f.name).collect();
    let missing: Vec<&str> = machine::features().iter().filter(|f| !f.present).map(|f| f.name).collect();
    let facts = [
        (
            "wsp",
            format!("{} on {} {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH),
        ),
        ("processor", machine::processor().unwrap_or_else(unknown)),
        ("cores", wsp_check::cores().to_string()),
        ("SIMD", format!("{} kernels", machine::simd_level())),
        ("engine", engine().to_owned()),
        ("features", listed(&features)),
        ("missing", listed(&missing)),
        ("caches", machine::caches().join(", ")),
        (
            "memory",
            format!(
                "{} available of {}",
                size(wsp_check::available_memory()),
                size(wsp_check::total_memory())
            ),
        ),
        ("page size", machine::page_size().map_or_else(unknown, |n| format!("{n} bytes"))),
        ("huge pages", machine::huge_pages().unwrap_or_else(unknown)),
    ];
    let mut out = String::new();
    for (name, value) in facts {
        out.push_str(format!("{name:<11} {value}").trim_end());
        out.push('\n');
    }
    for advice in advice() {
        out.push_str(&format!("note: {advice}\n"));
    }
    out
}

/// What runs the scalar code of generators and kernels here, if nothing else is asked for.
fn engine() -> &'static str {
    if Engine::Native.is_available() { "native" } else { "interpreter" }
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(" ") }
}

/// What slows this machine down, and what can be done about it.
fn advice() -> Vec<String> {
    let mut advice = Vec::new();
    if machine::simd_level() == "portable" {
        advice.push(
            "no vector instructions that the fast kernels know: expect runs several times slower".to_owned(),
        );
    }
    if wsp_check::cores() == 1 {
        advice.push("one core only: the planner and the workers share it".to_owned());
    }
    if wsp_check::available_memory().is_some_and(|n| n < 2_000_000_000) {
        advice.push(
            "less than 2 GB of memory available: `cargo xtask bench decode` will skip the large sets"
                .to_owned(),
        );
    }
    advice
}

fn as_json() -> serde_json::Value {
    let features: serde_json::Map<String, serde_json::Value> =
        machine::features().iter().map(|f| (f.name.to_owned(), f.present.into())).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "processor": machine::processor(),
        "cores": wsp_check::cores(),
        "simd": machine::simd_level(),
        "engine": engine(),
        "features": features,
        "caches": machine::caches(),
        "memory": { "total": wsp_check::total_memory(), "available": wsp_check::available_memory() },
        "page_size": machine::page_size(),
        "huge_pages": machine::huge_pages(),
        "notes": advice(),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_forms_say_how_many_cores_there_are() {
        assert!(super::text().contains("cores"));
        assert!(super::as_json()["cores"].as_u64().unwrap() >= 1);
    }
}
