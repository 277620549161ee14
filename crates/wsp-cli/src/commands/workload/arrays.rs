//! Arrays of workloads: read from files, or made up for the kernels of a used file.

use super::Source;
use crate::args::DataArgs;
use crate::codes;
use crate::commands::data;
use crate::engine;
use crate::engine::workload::library_values;
use crate::files::{read_inputs, take_bits_as_floats};
use crate::generate::generate_tensors;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wsp_core::DType;
use wsp_ir::diag::{Diagnostic, did_you_mean};
use wsp_plan::{Arrays, ParamValue};

/// Who takes arrays.
const THE_WORKLOAD: &str = "the workload";

/// Reads arrays for a graph. Where kernels are only declared it depends on tables alone.
pub(in crate::commands) fn read_graph_arrays(
    source: &Source,
    archive: Option<&Path>,
    single: &[(String, PathBuf)],
    set: &[(String, ParamValue)],
) -> Result<Arrays, Vec<Diagnostic>> {
    if source.library.is_some() {
        let args = DataArgs {
            inputs: archive.map(Path::to_owned),
            input: single.to_vec(),
            generate: None,
            seed: crate::generate::DEFAULT_SEED,
        };
        return read(source, &args, set);
    }
    let of_tensor = single.iter().filter(|(name, _)| source.module.tensors.iter().any(|t| t.name == *name));
    let faults: Vec<Diagnostic> = of_tensor
        .map(|(name, _)| {
            Diagnostic::error(codes::OPTION_OF_OTHERS, format!("`{name}` is a tensor, not a table"))
                .note("a task graph does not depend on what tensors hold")
                .help(format!("leave out `--input {name}=…`"))
        })
        .collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    let tables: Vec<&str> = source.module.tables.iter().map(|t| t.name.as_str()).collect();
    read_named(archive, single, &tables, THE_WORKLOAD)
}

/// Reads the arrays of a run. For the kernels of a used file they are made up when none of theirs is given.
pub(super) fn read(
    source: &Source,
    args: &DataArgs,
    set: &[(String, ParamValue)],
) -> Result<Arrays, Vec<Diagnostic>> {
    let module = &source.module;
    let own = module.tables.iter().map(|t| &t.name).chain(module.tensors.iter().map(|t| &t.name));
    let (data, integers) = source.library.as_ref().map(data::names).unwrap_or_default();
    let of_library = || data.iter().chain(&integers);
    let names: Vec<&str> = own.chain(of_library()).map(String::as_str).collect();
    let mut arrays = read_named(args.inputs.as_deref(), &args.input, &names, THE_WORKLOAD)?;
    let bf16 = module.tensors.iter().filter(|t| t.dtype == DType::Bf16).map(|t| t.name.as_str());
    take_bits_as_floats(&mut arrays, bf16.chain(data.iter().map(String::as_str)));
    if let Some(library) = &source.library
        && !of_library().any(|name| arrays.contains_key(name))
    {
        let inputs = engine::inputs(library)?;
        let values = library_values(source, set);
        let pairs = args.generate.clone().unwrap_or_default();
        let made = generate_tensors(library, &pairs, &values, &BTreeMap::new(), args.seed, &|id| {
            inputs.contains(&id)
        });
        arrays.extend(made.map_err(|fault| vec![fault])?);
    }
    Ok(arrays)
}

/// Reads arrays, each of which must be one of `names`, which `what` takes; of an archive those that are.
pub(in crate::commands) fn read_named(
    archive: Option<&Path>,
    single: &[(String, PathBuf)],
    names: &[&str],
    what: &str,
) -> Result<Arrays, Vec<Diagnostic>> {
    let unknown = single.iter().filter(|(name, _)| !names.contains(&name.as_str()));
    let faults: Vec<Diagnostic> = unknown.map(|(name, _)| unknown_array(name, names, what)).collect();
    if faults.is_empty() { read_inputs(archive, single, &|name| names.contains(&name)) } else { Err(faults) }
}

fn unknown_array(name: &str, names: &[&str], what: &str) -> Diagnostic {
    let fault = Diagnostic::error(codes::OPTION_OF_OTHERS, format!("{what} takes no array `{name}`"));
    match did_you_mean(name, names.iter().copied()) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None if names.is_empty() => fault.note("it takes no arrays"),
        None => {
            let listed: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
            fault.note(format!("it takes {}", listed.join(", ")))
        }
    }
}
