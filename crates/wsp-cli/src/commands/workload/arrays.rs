//! Arrays of workloads: read from files, or made up for the kernels of a used file.

use super::Source;
use crate::args::DataArgs;
use crate::codes;
use crate::commands::data;
use crate::commands::given::{Files, Making, Want};
use crate::engine;
use crate::engine::workload::library_values;
use crate::files::take_bits_as_floats;
use crate::generate::{DEFAULT_SEED, Pairs, check_dtype, extents_of, generate_tensors};
use wsp_core::{DType, TensorId};
use wsp_cpu::workload::{Absent, WorkloadInputs, WorkloadProgram};
use wsp_ir::Module;
use wsp_ir::diag::Diagnostic;
use wsp_plan::{Arrays, ParamValue};

/// Who takes arrays.
const THE_WORKLOAD: &str = "the workload";

/// Reads arrays for a graph. Where kernels are only declared it depends on tables alone.
pub(in crate::commands) fn read_graph_arrays(
    source: &Source,
    files: Files<'_>,
    set: &[(String, ParamValue)],
) -> Result<Arrays, Vec<Diagnostic>> {
    let tensors = || source.module.tensors.iter().map(|t| t.name.as_str());
    let faults: Vec<Diagnostic> = files
        .single
        .iter()
        .filter(|(name, _)| source.library.is_none() && tensors().any(|tensor| tensor == name))
        .map(|(name, _)| {
            Diagnostic::error(codes::OPTION_OF_OTHERS, format!("`{name}` is a tensor, not a table"))
                .note("a task graph does not depend on what tensors hold")
                .help(format!("leave out `--input {name}=…`"))
        })
        .collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    let wanted = wants(source, None)?;
    let mut arrays = files.read(&wanted, Making::Rest, THE_WORKLOAD)?;
    take_bits(source, &mut arrays);
    if source.library.is_none() {
        // An archive of a run holds tensors too.
        let single = |name: &String| source.module.tables.iter().any(|table| table.name == *name);
        arrays.retain(|name, _| single(name));
        return Ok(arrays);
    }
    let making = Library { making: Making::Rest, pairs: &Pairs::default(), seed: DEFAULT_SEED };
    making.make(source, None, &mut arrays, set)?;
    Ok(arrays)
}

/// What a run is given.
pub(super) struct Given {
    pub(super) inputs: WorkloadInputs,
    /// The arrays that were read, such as `x f32[4]`.
    pub(super) shown: Vec<String>,
    /// Names of those that are made up.
    pub(super) made: Vec<String>,
}

/// Reads the arrays of a run, and makes up what is to be.
pub(super) fn read(
    source: &Source,
    program: &WorkloadProgram,
    args: &DataArgs,
    set: Vec<(String, ParamValue)>,
) -> Result<Given, Vec<Diagnostic>> {
    let wanted = wants(source, Some(program))?;
    let mut arrays = args.read(&wanted, THE_WORKLOAD)?;
    take_bits(source, &mut arrays);
    let shown = arrays.iter().map(|(name, array)| format!("{name} {array:?}")).collect();
    let (made_up, absent): (Vec<String>, Absent) = match args.making() {
        // What tasks certainly write first begins with zeros: a part that they leave must not look computed.
        Making::Rest => {
            let read = program.maybe_needed().filter(|name| !arrays.contains_key(*name));
            (read.map(str::to_owned).collect(), Absent::Zeros)
        }
        Making::Named(fill) => {
            let tensors = source.module.tensors.iter().map(|t| &t.name);
            (tensors.filter(|name| fill.contains(*name)).cloned().collect(), Absent::Refused)
        }
    };
    let mut made = made_up.clone();
    let pairs = args.generate.clone().unwrap_or_default();
    let library = Library { making: args.making(), pairs: &pairs, seed: args.seed() };
    made.extend(library.make(source, Some(program), &mut arrays, &set)?);
    args.check_made(&made)?;
    let inputs = WorkloadInputs {
        set,
        arrays,
        made_up,
        absent,
        seed: args.seed(),
        mixing: true,
        ..WorkloadInputs::default()
    };
    Ok(Given { inputs, shown, made })
}

/// The arrays that a workload takes; of tables, binding says which are needed.
fn wants(source: &Source, program: Option<&WorkloadProgram>) -> Result<Vec<Want>, Vec<Diagnostic>> {
    let module = &source.module;
    let needed = |name: &str| program.is_some_and(|program| program.needed().any(|needed| needed == name));
    let tables = module.tables.iter().map(|t| Want { name: t.name.clone(), needed: false });
    let tensors = module.tensors.iter().map(|t| Want { name: t.name.clone(), needed: needed(&t.name) });
    let mut all: Vec<Want> = tables.chain(tensors).collect();
    if let Some(library) = &source.library {
        all.extend(data::wants(library, &inputs(library, program)?));
    }
    Ok(all)
}

/// Tensors of a used file that need arrays: by the kernels that tasks call, where these are known.
fn inputs(library: &Module, program: Option<&WorkloadProgram>) -> Result<Vec<TensorId>, Vec<Diagnostic>> {
    program.map_or_else(|| engine::inputs(library), |program| Ok(program.library_inputs()))
}

/// Takes integers as the floats whose bits they are.
fn take_bits(source: &Source, arrays: &mut Arrays) {
    let bf16 = source.module.tensors.iter().filter(|t| t.dtype == DType::Bf16).map(|t| t.name.as_str());
    let data = source.library.as_ref().map(|library| data::names(library).0).unwrap_or_default();
    take_bits_as_floats(arrays, bf16.chain(data.iter().map(String::as_str)));
}

/// What is made up for the kernels of a used file.
struct Library<'a> {
    making: Making<'a>,
    pairs: &'a Pairs,
    seed: u64,
}

impl Library<'_> {
    /// Makes up arrays that are not given; their names.
    fn make(
        &self,
        source: &Source,
        program: Option<&WorkloadProgram>,
        arrays: &mut Arrays,
        set: &[(String, ParamValue)],
    ) -> Result<Vec<String>, Vec<Diagnostic>> {
        let Some(library) = &source.library else { return Ok(Vec::new()) };
        let asked: Vec<TensorId> = match self.making {
            Making::Rest => inputs(library, program)?,
            Making::Named(_) => (0..library.tensors.len()).map(|i| TensorId(i as u32)).collect(),
        };
        let named = |name: &str| match self.making {
            Making::Rest => true,
            Making::Named(fill) => fill.iter().any(|filled| filled == name),
        };
        let wanted = |name: &str| !arrays.contains_key(name) && named(name);
        let absent = asked.into_iter().filter(|&id| data::name_of(library, id).is_some_and(wanted));
        let absent: Vec<TensorId> = absent.collect();
        if absent.is_empty() {
            return Ok(Vec::new());
        }
        let values = library_values(source, set);
        let known = extents_of(library, arrays);
        let made =
            generate_tensors(library, self.pairs, &values, &known, self.seed, &|id| absent.contains(&id));
        let made = made.map_err(|fault| vec![fault])?;
        let names: Vec<String> = made.keys().cloned().collect();
        check_dtype(library, self.pairs, &names).map_err(|fault| vec![fault])?;
        arrays.extend(made);
        Ok(names)
    }
}
