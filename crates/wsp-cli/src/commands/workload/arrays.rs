//! Arrays of workloads: read from files, or made up for the kernels of a used file.

use super::source::{Source, library_values};
use crate::args::DataArgs;
use crate::commands::data;
use crate::commands::given::{Makeable, Making, Want};
use crate::commands::options::{refuse, unread_value};
use crate::files::take_bits_as_floats;
use crate::report::Sources;
use pto_wsp::{codes, registry};
use wsp_backend::{Absent, Args, KvLayout, WorkloadRunOptions};
use wsp_check::generate::{
    DEFAULT_SEED, Origin, Pairs, can_make, check_dtype, extents_made, extents_of, generate_tensors,
};
use wsp_core::{DType, ParamId, TensorId};
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::Module;
use wsp_ir::workload::{IntExprKind, Table, is_param_used};
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_plan::target::CPU_SIM;
use wsp_plan::workload::{FirstReads, WorkloadPlan, stated_tables};
use wsp_plan::{Arrays, ParamValue, params_of_kernels};

/// Who takes arrays.
const THE_WORKLOAD: &str = "the workload";

/// What arrays are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::commands) enum Purpose {
    /// Kernels run over them.
    Run,
    /// Only what tasks there are is asked, which of declared kernels depends on tables alone.
    Tasks,
}

/// The arrays of a workload.
pub(in crate::commands) struct Given {
    pub(in crate::commands) args: Args,
    /// What tensors of declared kernels begin with that no array is given for.
    pub(in crate::commands) begin: WorkloadRunOptions,
    pub(in crate::commands) sources: Sources,
}

/// Reads the arrays of a workload, and makes up what is to be.
pub(in crate::commands) fn read(
    source: &Source,
    plan: &WorkloadPlan,
    args: &DataArgs,
    set: Vec<(String, ParamValue)>,
    purpose: Purpose,
) -> Result<Given, Vec<Diagnostic>> {
    refuse_unread(source, plan, &set)?;
    let tables_only = purpose == Purpose::Tasks && source.library.is_none();
    if tables_only {
        refuse_tensors(source, args)?;
    }
    let reads = plan.first_reads();
    let wanted = wants(source, plan, &reads, purpose);
    refuse_stated(&wanted, args)?;
    let is_read = wanted.iter().any(|want| want.needed)
        || !(reads.needed.is_empty() && reads.unsure.is_empty())
        || (source.library.is_some() && !plan.library_inputs().is_empty());
    args.check_generate(is_read, THE_WORKLOAD)?;
    let pairs = args.generate.clone().unwrap_or_default();
    let library = Library { making: args.making(), pairs: &pairs, origin: args.origin() };
    let fill = |arrays: &Arrays, name: &str| library.can_make(source, arrays, &set, name);
    let mut arrays =
        args.read(&wanted, Makeable { fill: &fill, generate: true, all: false }, THE_WORKLOAD)?;
    take_bits(source, &mut arrays);
    if tables_only {
        // An archive of a run holds tensors too.
        arrays.retain(|name, _| source.module.tables.iter().any(|table| table.name == *name));
    }
    let given = arrays.iter().map(|(name, array)| format!("{name} {array:?}")).collect();
    let (made_up, absent) = match purpose {
        Purpose::Run => tensors_made_up(source, &reads, args, &arrays),
        Purpose::Tasks => (Vec::new(), Absent::Refused),
    };
    let mut made = made_up.clone();
    made.extend(library.make(source, plan, &mut arrays, &set)?);
    args.check_made(&made)?;
    let mixing = purpose == Purpose::Run;
    let seed = args.seed();
    let begin = match source.library {
        None => {
            let data_seed = if made_up.is_empty() { 0 } else { seed };
            WorkloadRunOptions { made_up, absent, data_seed, mixing, ..WorkloadRunOptions::default() }
        }
        Some(_) => WorkloadRunOptions::default(),
    };
    let of_run = Args { arrays, values: set, ..Args::default() };
    Ok(Given { args: of_run, begin, sources: Sources { given, made, seed } })
}

/// Refuses values of parameters that neither the workload nor a kernel that its tasks call reads.
fn refuse_unread(
    source: &Source,
    plan: &WorkloadPlan,
    set: &[(String, ParamValue)],
) -> Result<(), Vec<Diagnostic>> {
    let (module, library) = (&source.module, source.library.as_ref());
    let called = plan.library.iter().flat_map(|of| of.plan.called.iter().flatten()).copied().collect();
    let of_kernels = library.map_or_else(OrderedSet::new, |library| params_of_kernels(library, &called));
    let is_unread = |name: &str| {
        let (own, shared) = (module.param_named(name), library.and_then(|of| of.param_named(name)));
        let is_read = own.is_some_and(|id| is_param_used(module, id))
            || shared.is_some_and(|id| of_kernels.contains(&id));
        (own.is_some() || shared.is_some()) && !is_read
    };
    let unread = set.iter().filter(|(name, _)| is_unread(name));
    let faults: Vec<Diagnostic> = unread.map(|(name, _)| unread_value(name)).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Refuses to make up tables whose values the workload states.
fn refuse_stated(wanted: &[Want], args: &DataArgs) -> Result<(), Vec<Diagnostic>> {
    let stated = |name: &str| wanted.iter().any(|want| want.name == name && want.stated);
    let faults: Vec<Diagnostic> = args
        .fill
        .iter()
        .filter(|name| stated(name))
        .map(|name| {
            let message = format!("`{name}` cannot be made up: {THE_WORKLOAD} states its values");
            Diagnostic::error(codes::CANNOT_GENERATE, message).help(format!("leave out `--fill {name}`"))
        })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Refuses to read or make up tensors where nothing depends on them.
fn refuse_tensors(source: &Source, args: &DataArgs) -> Result<(), Vec<Diagnostic>> {
    let is_tensor = |name: &String| source.module.tensors.iter().any(|tensor| tensor.name == *name);
    let tensors = args.input.iter().filter(|(name, _)| is_tensor(name));
    let read = tensors.map(|(name, _)| {
        Diagnostic::error(codes::OPTION_OF_OTHERS, format!("`{name}` is a tensor, not a table"))
            .note("the tasks do not depend on what tensors hold")
            .help(format!("leave out `--input {name}=…`"))
    });
    let tables: Vec<&str> = source.module.tables.iter().map(|table| table.name.as_str()).collect();
    let is_unknown = |name: &String| !tables.contains(&name.as_str()) && !is_tensor(name);
    let unknown = args.input.iter().filter(|(name, _)| !args.allow_unused && is_unknown(name));
    let unknown = unknown.map(|(name, _)| {
        let message = format!("{THE_WORKLOAD} has no table `{name}`");
        let fault = Diagnostic::error(codes::OPTION_OF_OTHERS, message);
        match (did_you_mean(name, tables.iter().copied()), tables.as_slice()) {
            (Some(near), _) => fault.help(format!("did you mean `{near}`?")),
            (None, []) => {
                fault.note("the tasks depend on no array").help(format!("leave out `--input {name}=…`"))
            }
            (None, tables) => fault.note(format!("the tasks depend on {}", tables.join(", "))),
        }
    });
    let given = [("--fill", !args.fill.is_empty()), ("--generate", args.generate.is_some())];
    let made = refuse(&given, "has no meaning: the tasks do not depend on what tensors hold");
    let faults: Vec<Diagnostic> = read.chain(unknown).chain(made.err()).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Tensors of declared kernels that are made up, and what the others begin with.
fn tensors_made_up(
    source: &Source,
    reads: &FirstReads,
    args: &DataArgs,
    arrays: &Arrays,
) -> (Vec<String>, Absent) {
    let making = args.making();
    let tensors = source.module.tensors.iter().map(|t| &t.name).filter(|name| !arrays.contains_key(*name));
    let made = tensors
        .filter(|name| making.makes(name, reads.needed.contains(*name) || reads.unsure.contains(*name)))
        .cloned()
        .collect();
    // What tasks certainly write first begins with zeros: a part that they leave must not look computed.
    (made, if making.rest { Absent::Zeros } else { Absent::Refused })
}

/// The arrays that a workload takes; of tables, binding says which are needed.
fn wants(source: &Source, plan: &WorkloadPlan, reads: &FirstReads, purpose: Purpose) -> Vec<Want> {
    let module = &source.module;
    let needed = |name: &str| purpose == Purpose::Run && reads.needed.contains(name);
    let stated = |t: &Table| t.values.is_some();
    let tables =
        module.tables.iter().map(|t| Want { name: t.name.clone(), needed: false, stated: stated(t) });
    let accessed = plan.accessed();
    let is_taken = |at: usize| accessed.contains(&TensorId(at as u32));
    let tensors = module.tensors.iter().enumerate().filter(|(at, _)| is_taken(*at));
    let tensors = tensors.map(|(_, t)| Want { name: t.name.clone(), needed: needed(&t.name), stated: false });
    let mut all: Vec<Want> = tables.chain(tensors).collect();
    if let Some(library) = &source.library {
        all.extend(library_wants(library, plan));
    }
    all
}

/// The arrays of a used file that a workload takes; of a cache, binding decides which are needed.
fn library_wants(library: &Module, plan: &WorkloadPlan) -> Vec<Want> {
    let taken = plan.library_tensors();
    let is_taken = |id: Option<TensorId>| id.is_none_or(|id| taken.contains(&id));
    let mut wants = data::wants(library, &plan.library_needed());
    wants.retain(|want| is_taken(data::tensor_named(library, &want.name)));
    wants
}

/// Takes integers as the floats whose bits they are.
fn take_bits(source: &Source, arrays: &mut Arrays) {
    let bf16 = source.module.tensors.iter().filter(|t| t.dtype == DType::Bf16).map(|t| t.name.as_str());
    let data = source.library.as_ref().map(data::real_names).unwrap_or_default();
    take_bits_as_floats(arrays, bf16.chain(data.iter().map(String::as_str)));
}

/// What is made up for the kernels of a used file.
struct Library<'a> {
    making: Making<'a>,
    pairs: &'a Pairs,
    origin: Origin<'a>,
}

impl Library<'_> {
    /// Whether an array can be made up beside those that are given: a tensor of declared kernels, or one of the used file.
    fn can_make(&self, source: &Source, arrays: &Arrays, set: &[(String, ParamValue)], name: &str) -> bool {
        let Some(library) = &source.library else { return true };
        let (values, known) = (library_values(source, set), known_extents(source, library, arrays));
        data::tensor_named(library, name)
            .is_some_and(|id| can_make(library, self.pairs, &values, &known, self.origin, id))
    }

    /// Makes up arrays that are not given; their names.
    fn make(
        &self,
        source: &Source,
        plan: &WorkloadPlan,
        arrays: &mut Arrays,
        set: &[(String, ParamValue)],
    ) -> Result<Vec<String>, Vec<Diagnostic>> {
        let Some(library) = &source.library else { return Ok(Vec::new()) };
        let read = plan.library_inputs();
        let absent = (0..library.tensors.len()).map(|i| TensorId(i as u32)).filter(|id| {
            let name = data::name_of(library, *id).filter(|name| !arrays.contains_key(*name));
            name.is_some_and(|name| self.making.makes(name, read.contains(id)))
        });
        let absent: Vec<TensorId> = absent.collect();
        if absent.is_empty() {
            return Ok(Vec::new());
        }
        let values = library_values(source, set);
        let known = known_extents(source, library, arrays);
        self.check_size(library, plan, (&known, &values), set)?;
        let made =
            generate_tensors(library, self.pairs, &values, &known, self.origin, &|id| absent.contains(&id));
        let made = made.map_err(|fault| vec![fault])?;
        let names: Vec<String> = made.keys().cloned().collect();
        check_dtype(library, self.pairs, &names).map_err(|fault| vec![fault])?;
        arrays.extend(made);
        Ok(names)
    }

    /// Refuses a launch that is larger than its target takes before arrays are filled for it.
    fn check_size(
        &self,
        library: &Module,
        plan: &WorkloadPlan,
        (known, values): (&OrderedMap<ParamId, u32>, &[(String, ParamValue)]),
        set: &[(String, ParamValue)],
    ) -> Result<(), Vec<Diagnostic>> {
        if plan.options.target == CPU_SIM {
            return Ok(());
        }
        let extents = extents_made(library, self.pairs, values, known, self.origin);
        let extents = extents.map_err(|fault| vec![fault])?.into_iter();
        let extents = extents.map(|(name, extent)| (name, ParamValue::Int(extent.into())));
        let all: Vec<_> = set.iter().cloned().chain(extents).collect();
        Ok(registry().check_values(&plan.clone().into(), &all)?)
    }
}

/// The arrays that kernels of a used file read, made up as a run makes them up of which nothing is said; none where that cannot be.
pub(in crate::commands) fn made_up(source: &Source, plan: &WorkloadPlan) -> Option<Arrays> {
    let library = source.library.as_ref()?;
    let known = known_extents(source, library, &Arrays::new());
    let (pairs, values, read) = (Pairs::default(), library_values(source, &[]), plan.library_inputs());
    generate_tensors(library, &pairs, &values, &known, Origin::of(DEFAULT_SEED), &|id| read.contains(&id))
        .ok()
}

/// The extents that given arrays give the shapes of a used file; also by the length of a table, where the workload declares it with
/// the name of an extent.
fn known_extents(source: &Source, library: &Module, arrays: &Arrays) -> OrderedMap<ParamId, u32> {
    let module = &source.module;
    let mut known = extents_of(library, arrays, KvLayout::default());
    known.extend(extents_of(library, &stated_tables(module, arrays), KvLayout::default()));
    for table in &module.tables {
        let (Some(array), Some(len)) = (arrays.get(&table.name), &table.len) else { continue };
        let IntExprKind::Param(param) = len.kind else { continue };
        let name = &module.params[param.index()].name;
        let id = library.param_named(name).filter(|_| data::is_extent(library, name));
        if let (Some(id), &[len]) = (id, array.shape()) {
            known.extend(u32::try_from(len).ok().map(|len| (id, len)));
        }
    }
    known
}
