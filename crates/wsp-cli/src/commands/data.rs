//! The arrays of a launch: read, or made up.

use super::given::{Makeable, Want};
use super::{Session, asked_layout};
use crate::args::{DataArgs, LaunchArgs};
use crate::engine;
use crate::files::take_bits_as_floats;
use crate::report::Sources;
use pto_wsp::codes;
use wsp_backend::KvLayout;
use wsp_check::generate::{
    DEFAULT_SEED, Names, Origin, Pairs, Spec, can_make, check_dtype, extents_asked, extents_of, generate,
    generate_tensors, unsolved,
};
use wsp_check::reference::{RAGGED_PREFILL, role};
use wsp_core::TensorId;
use wsp_diag::Diagnostic;
use wsp_ir::{BindingSource, EntryTy, Module, ParamSource};
use wsp_ordered::OrderedMap;
use wsp_plan::{Arrays, array_name};

/// Who takes arrays.
const THE_PROGRAM: &str = "the program";
/// Fields of a paged cache that hold data.
const CACHE_DATA: [&str; 2] = ["k", "v"];
/// Most tokens of made-up prompts that are appended to a cache: their attention in f64 takes its time.
const PROMPT_TOKENS: u32 = 2048;
/// Fields of a paged cache that hold its page table.
const CACHE_TABLE: [&str; 3] = ["indptr", "indices", "last_page_len"];

/// The arrays of a launch, and what is known of them.
pub(super) struct Data {
    pub(super) arrays: Arrays,
    /// Order of heads and tokens in the pages.
    pub(super) layout: KvLayout,
    /// The seed, when some are made up.
    pub(super) seed: Option<u64>,
    /// Names of those that are made up.
    pub(super) made: Vec<String>,
}

impl Data {
    /// Where the arrays come from.
    pub(super) fn sources(&self) -> Sources {
        let given = self.arrays.iter().filter(|(name, _)| !self.made.contains(name));
        Sources {
            given: given.map(|(name, array)| format!("{name} {array:?}")).collect(),
            made: self.made.clone(),
            seed: self.seed.unwrap_or_default(),
        }
    }

    /// Nothing is given.
    fn made(arrays: Arrays, layout: KvLayout, seed: u64) -> Data {
        let made = arrays.keys().cloned().collect();
        Data { arrays, layout, seed: Some(seed), made }
    }
}

/// Reads or makes the arrays that a program wants.
pub(super) fn load(
    session: &Session,
    module: &Module,
    args: &DataArgs,
    launch: &LaunchArgs,
) -> Result<Data, Vec<Diagnostic>> {
    let asked = asked_layout(launch);
    if asked.is_some() && !takes_cache(module) {
        let fault = Diagnostic::error(
            codes::NO_LAYOUT,
            "`kv_layout` says nothing here: the program takes no paged cache",
        );
        return Err(vec![fault.help("leave out `--set kv_layout=…`")]);
    }
    // The batch of a cache is made up as a whole; `--fill` then names others beside it.
    let is_batch = takes_cache(module) && !args.reads_files() && args.generate.is_some();
    if args.names_arrays() && !is_batch {
        return given(session, module, args, launch, asked);
    }
    let pairs = args.generate.clone().unwrap_or_default();
    session.terminal.progress("making up data");
    if !takes_cache(module) {
        let inputs = engine::inputs(module)?;
        args.check_generate(!inputs.is_empty(), THE_PROGRAM)?;
        let set = super::params(launch);
        let none = OrderedMap::new();
        let arrays = generate_tensors(module, &pairs, &set, &none, args.origin(), &|id| inputs.contains(&id));
        let arrays = arrays.map_err(|fault| vec![fault])?;
        let data = Data::made(arrays, asked.unwrap_or_default(), args.seed());
        args.check_seed(&data.made)?;
        check_dtype(module, &pairs, &data.made).map_err(|fault| vec![fault])?;
        return Ok(data);
    }
    let set = super::params(launch);
    args.check_names(&wants(module, &[]), THE_PROGRAM)?;
    let spec = Spec::fit(module, &set)
        .with(&pairs)
        .map_err(|fault| vec![Diagnostic::error(codes::CANNOT_GENERATE, format!("`--generate`: {fault}"))])?;
    if let (Some(made), Some(asked)) = (spec.layout, asked)
        && made != asked
    {
        return Err(vec![
            Diagnostic::error(
                codes::CANNOT_GENERATE,
                format!("the data are to be {made}, but `kv_layout` is {asked}"),
            )
            .help(format!("leave out `--set kv_layout={asked}` or `layout={made}`")),
        ]);
    }
    let layout = spec.layout.or(asked).unwrap_or_default();
    let names = Names::of(module).map_err(|fault| vec![fault])?;
    let mut arrays = generate(&spec, args.origin(), layout, &names).map_err(|fault| vec![fault])?;
    let mut others = others(module, &arrays)?;
    let filled = args.fill.iter().filter(|name| !arrays.contains_key(*name));
    others.extend(filled.filter_map(|name| tensor_named(module, name)));
    if !others.is_empty() {
        let known = spec.extents(module, &names, &arrays);
        let pairs = Pairs::of("dtype", spec.dtype.name());
        let pairs = match appends(module) {
            true => pairs.and("len", &first_lengths(&arrays, &names.kv, spec.page)),
            false => pairs,
        };
        let made = generate_tensors(module, &pairs, &set, &known, args.origin(), &|id| others.contains(&id));
        arrays.extend(made.map_err(|fault| vec![fault])?);
    }
    let data = Data::made(arrays, layout, args.seed());
    args.check_made(&data.made)?;
    Ok(data)
}

/// The arrays that a program reads, made up with the sizes that its parameters have by default; none for one that takes a paged cache.
pub(super) fn made_up(module: &Module) -> Option<Arrays> {
    if takes_cache(module) {
        return None;
    }
    let inputs = engine::inputs(module).ok()?;
    let origin = Origin::of(DEFAULT_SEED);
    let none = OrderedMap::new();
    generate_tensors(module, &Pairs::default(), &[], &none, origin, &|id| inputs.contains(&id)).ok()
}

/// The arrays that are given, and those beside them that are to be made up.
fn given(
    session: &Session,
    module: &Module,
    args: &DataArgs,
    launch: &LaunchArgs,
    asked: Option<KvLayout>,
) -> Result<Data, Vec<Diagnostic>> {
    if args.generate.is_some() && takes_cache(module) {
        let message =
            "`--generate` cannot be used with `--inputs` or `--input` of a program that takes a paged cache";
        return Err(vec![
            Diagnostic::error(codes::OPTIONS_CONTRADICT, message)
                .note("pages, page tables and lengths of a cache belong together")
                .help("leave out the files, or give every array that follows from the cache; others can be made up with `--fill NAME`"),
        ]);
    }
    let inputs = engine::inputs(module)?;
    let wanted = wants(module, &inputs);
    args.check_generate(!inputs.is_empty(), THE_PROGRAM)?;
    let (pairs, set) = (args.generate.clone().unwrap_or_default(), super::params(launch));
    let layout = asked.unwrap_or_default();
    let fill = |arrays: &Arrays, name: &str| {
        let known = extents_of(module, arrays, layout);
        let settled = extents_asked(module, &pairs, &set, &known, args.origin());
        settled.is_ok_and(|settled| unsolved(module, name, arrays, &settled, &pairs).is_empty())
            && tensor_named(module, name)
                .is_some_and(|id| can_make(module, &pairs, &set, &known, args.origin(), id))
    };
    let makeable = Makeable { fill: &fill, generate: !takes_cache(module), all: !args.reads_files() };
    let mut arrays = args.read(&wanted, makeable, THE_PROGRAM)?;
    take_bits_as_floats(&mut arrays, real_names(module).iter().map(String::as_str));
    // An output that is made up begins with those values.
    let asked_for = |want: &Want| args.making().makes(&want.name, want.needed);
    let made = wanted.iter().filter(|want| !arrays.contains_key(&want.name) && asked_for(want));
    let made: Vec<&Want> = made.collect();
    if made.is_empty() {
        args.check_made(&[])?;
        args.check_seed(&[])?;
        return Ok(Data { arrays, layout, seed: None, made: Vec::new() });
    }
    if let Some(part) = made.iter().find(|want| want.name.contains('.')) {
        let message = format!("`{}` cannot be made up beside arrays that are given", part.name);
        let fault = Diagnostic::error(codes::CANNOT_GENERATE, message)
            .note("pages, page tables and lengths of a cache belong together");
        return Err(vec![fault.help(format!("give it: `--input {}=FILE.npy`", part.name))]);
    }
    session.terminal.progress("making up data");
    let known = extents_of(module, &arrays, layout);
    let settled = extents_asked(module, &pairs, &set, &known, args.origin()).map_err(|fault| vec![fault])?;
    let open = made.iter().flat_map(|want| unsolved(module, &want.name, &arrays, &settled, &pairs));
    let open: Vec<Diagnostic> =
        open.map(|(name, extent, given)| cannot_tell(name, extent, given, takes_cache(module))).collect();
    if !open.is_empty() {
        return Err(open);
    }
    let wanted = |id: TensorId| name_of(module, id).is_some_and(|name| made.iter().any(|w| w.name == name));
    let more = generate_tensors(module, &pairs, &set, &known, args.origin(), &wanted);
    let more = more.map_err(|fault| vec![fault])?;
    let made: Vec<String> = more.keys().cloned().collect();
    args.check_made(&made)?;
    check_dtype(module, &pairs, &made).map_err(|fault| vec![fault])?;
    arrays.extend(more);
    Ok(Data { arrays, layout, seed: Some(args.seed()), made })
}

/// An array whose extent is that of one that is given, by an expression from which it does not follow.
fn cannot_tell(name: &str, extent: &str, given: &str, cache: bool) -> Diagnostic {
    let message = format!("`{name}` cannot be made up: its extent `{extent}` is not known");
    let fault = Diagnostic::error(codes::CANNOT_GENERATE, message)
        .note(format!("an extent of `{given}`, which is given, is computed from it"))
        .help(format!("give it: `--input {name}=FILE.npy`"));
    if cache { fault } else { fault.help(format!("or say the extent: `--generate {extent}=N`")) }
}

/// The parameter of the host entry that a tensor is bound to.
pub(super) fn name_of(module: &Module, tensor: TensorId) -> Option<&str> {
    let entry = module.entry.as_ref()?;
    let bound = entry.launch.bindings.iter().find(|b| b.source == BindingSource::Tensor(tensor))?;
    Some(&entry.params[bound.param as usize].name)
}

/// The tensor that a parameter of the host entry is bound to.
pub(super) fn tensor_named(module: &Module, name: &str) -> Option<TensorId> {
    (0..module.tensors.len()).map(|i| TensorId(i as u32)).find(|&id| name_of(module, id) == Some(name))
}

/// The names of the arrays that hold these tensors after a run.
pub(super) fn output_names(module: &Module, written: &[TensorId]) -> Vec<String> {
    written.iter().filter_map(|&id| array_name(module, id)).collect()
}

/// The arrays that a program takes. Of a cache, binding decides which are needed.
pub(super) fn wants(module: &Module, inputs: &[TensorId]) -> Vec<Want> {
    let needed = |name: &str| inputs.iter().any(|&id| name_of(module, id) == Some(name));
    let (data, tables) = names(module);
    data.into_iter().chain(tables).map(|name| Want { needed: needed(&name), name, stated: false }).collect()
}

/// Whether prompts are appended to the cache, so that they have to fit its first requests.
fn appends(module: &Module) -> bool {
    module
        .references
        .iter()
        .any(|reference| reference.name == RAGGED_PREFILL && role(reference, "kv").is_ok())
}

/// Lengths of the first requests of a cache, as many as have `PROMPT_TOKENS` together, as a list.
fn first_lengths(arrays: &Arrays, cache: &str, page: u32) -> String {
    let table = |field: &str| {
        arrays.get(&format!("{cache}.{field}")).and_then(|a| a.as_slice::<u32>()).unwrap_or_default()
    };
    let (indptr, last) = (table("indptr"), table("last_page_len"));
    let lengths = indptr.windows(2).zip(last).map(|(w, last)| match w[1] - w[0] {
        0 => 0,
        pages => (pages - 1) * page + last,
    });
    let within = lengths.scan(0u32, |total, n| {
        *total = total.saturating_add(n);
        (*total <= PROMPT_TOKENS).then(|| n.to_string())
    });
    let list: Vec<String> = within.collect();
    // A length by itself would be that of a whole batch.
    if list.len() < 2 { "0/0".to_owned() } else { list.join("/") }
}

/// Inputs of a program that are not among the arrays of decode attention.
fn others(module: &Module, made: &Arrays) -> Result<Vec<TensorId>, Vec<Diagnostic>> {
    let Some(entry) = &module.entry else { return Ok(Vec::new()) };
    let mut others = Vec::new();
    for binding in &entry.launch.bindings {
        if let BindingSource::Tensor(id) = binding.source
            && !made.contains_key(&entry.params[binding.param as usize].name)
        {
            others.push(id);
        }
    }
    if !others.is_empty() {
        let inputs = engine::inputs(module)?;
        others.retain(|id| inputs.contains(id));
    }
    Ok(others)
}

fn takes_cache(module: &Module) -> bool {
    module.entry.iter().flat_map(|entry| &entry.params).any(|p| p.ty == EntryTy::PagedKvCache)
}

/// Whether a parameter is an extent that arrays give.
pub(super) fn is_extent(module: &Module, name: &str) -> bool {
    let source = module.param_named(name).map(|id| &module.params[id.index()].source);
    matches!(source, Some(ParamSource::Shape { .. }))
}

/// Names of the arrays that hold real numbers.
pub(super) fn real_names(module: &Module) -> Vec<String> {
    let integers = module.entry.iter().flat_map(|entry| &entry.params).filter_map(|param| match param.ty {
        EntryTy::Tensor(Some(dtype)) if !dtype.is_float() => Some(&param.name),
        _ => None,
    });
    let integers: Vec<&String> = integers.collect();
    names(module).0.into_iter().filter(|name| !integers.contains(&name)).collect()
}

/// Names of the arrays that hold data, and of those that hold integers.
pub(super) fn names(module: &Module) -> (Vec<String>, Vec<String>) {
    let (mut data, mut integers) = (Vec::new(), Vec::new());
    for param in module.entry.iter().flat_map(|entry| &entry.params) {
        let name = &param.name;
        match param.ty {
            EntryTy::Tensor(_) => data.push(name.clone()),
            EntryTy::PagedKvCache => {
                data.extend(CACHE_DATA.map(|field| format!("{name}.{field}")));
                integers.extend(CACHE_TABLE.map(|field| format!("{name}.{field}")));
            }
            EntryTy::Array(_) => integers.push(name.clone()),
            EntryTy::Scalar(_) => {}
        }
    }
    (data, integers)
}
