//! Binding a launch: arrays and values from the user become parameters, shapes and page tables.
//!
//! Everything that comes from outside is checked here once; generators and kernels trust it.

mod cache;
pub(crate) mod faults;
mod integers;
pub(crate) mod params;
mod shapes;

pub(crate) use cache::BoundCache;
pub(crate) use shapes::{BoundDim, BoundTensor};

use crate::codes;
use crate::metadata::{ArrayFact, Metadata};
use crate::options::LaunchOptions;
use wsp_core::{AxisId, ParamId, TensorId};
use wsp_diag::Diagnostic;
use wsp_ir::{BindingSource, Elem, Entry, EntryTy, Expr, Module, Storage};
use wsp_kernel::{IntArray, Value};

/// A launch whose inputs are checked.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    /// Value of each parameter of the module; none where nothing says it and nothing that runs needs it.
    pub(crate) params: Vec<Option<Value>>,
    /// Each cache of the module.
    pub(crate) caches: Vec<BoundCache>,
    /// Each tensor of the module.
    pub(crate) tensors: Vec<BoundTensor>,
    /// Contents of rank-1 integer tensors, by tensor.
    pub(crate) integers: Vec<Option<IntArray>>,
    /// How many last elements of an axis there are at most, for axes of which that is said.
    pub(crate) last: Vec<(AxisId, u32)>,
    /// Warnings.
    pub(crate) notes: Vec<Diagnostic>,
}

impl Bound {
    /// How many last elements of an axis there are at most.
    pub(crate) fn last(&self, axis: AxisId) -> u32 {
        self.last.iter().find(|(of, _)| *of == axis).map_or(u32::MAX, |(_, last)| *last)
    }

    /// Whether all parameters that an expression names have values.
    pub(crate) fn knows(&self, expr: &Expr) -> bool {
        params::are_known(expr, &self.params)
    }
}

/// What a launch asks of its arrays and options.
#[derive(Clone, Copy)]
pub(crate) struct Demand<'a> {
    /// Which tensors need no array.
    pub(crate) absent: &'a dyn Fn(TensorId) -> bool,
    /// Which parameters must have a value.
    pub(crate) needed: &'a dyn Fn(ParamId) -> bool,
    /// Names of arrays that something else takes.
    pub(crate) others: &'a [&'a str],
    /// Names that `--set` takes besides those of parameters of the module.
    pub(crate) settings: &'a [&'a str],
}

/// What is known of the launch's arrays before parameters have values.
pub(crate) struct Inputs<'a> {
    module: &'a Module,
    arrays: &'a Metadata<'a>,
    options: &'a LaunchOptions,
    demand: Demand<'a>,
    caches: Vec<Option<BoundCache>>,
    /// The array of each launch tensor, with its name.
    of_tensor: Vec<Option<(&'a str, Option<&'a ArrayFact<'a>>)>>,
}

/// Binds arrays and options to a module.
pub(crate) fn bind(
    module: &Module,
    arrays: &Metadata<'_>,
    options: &LaunchOptions,
    demand: Demand<'_>,
) -> Result<Bound, Vec<Diagnostic>> {
    let Some(entry) = &module.entry else {
        return Err(vec![
            Diagnostic::error(codes::NO_ENTRY, "the file has no host entry, so there is nothing to run")
                .help("add a function that calls `PTO_LAUNCH(Space, { .name = parameter, … })`"),
        ]);
    };
    let inputs = collect(module, entry, arrays, options, demand)?;
    check_names(module, entry, arrays, demand)?;
    let bound = bind_values(inputs)?;
    assert_eq!(bound.caches.len(), module.caches.len(), "every cache of an entry is bound or reported");
    Ok(bound)
}

/// Binds what a module says by itself: parameters that have defaults, and what follows from them. There is no array and no cache.
pub(crate) fn bind_defaults(module: &Module) -> Result<Bound, Vec<Diagnostic>> {
    bind_values(Inputs {
        module,
        arrays: &Metadata::new(),
        options: &LaunchOptions::default(),
        demand: Demand { absent: &|_| true, needed: &|_| false, others: &[], settings: &[] },
        caches: vec![None; module.caches.len()],
        of_tensor: vec![None; module.tensors.len()],
    })
}

/// Values and shapes, and whether the program takes them.
fn bind_values(inputs: Inputs<'_>) -> Result<Bound, Vec<Diagnostic>> {
    let params = params::bind(&inputs)?;
    let (tensors, integers) = shapes::bind(&inputs, &params)?;
    params::check_requirements(inputs.module, &params)?;
    let caches = inputs.caches.into_iter().flatten().collect();
    Ok(Bound { params, caches, tensors, integers, last: Vec::new(), notes: Vec::new() })
}

/// Finds the array of every entry parameter.
fn collect<'a>(
    module: &'a Module,
    entry: &'a Entry,
    arrays: &'a Metadata<'a>,
    options: &'a LaunchOptions,
    demand: Demand<'a>,
) -> Result<Inputs<'a>, Vec<Diagnostic>> {
    let absent = demand.absent;
    let mut faults = Vec::new();
    let mut caches: Vec<Option<BoundCache>> = module.caches.iter().map(|_| None).collect();
    let mut of_tensor = vec![None; module.tensors.len()];
    let wanted = array_names(entry);
    for binding in &entry.launch.bindings {
        let param = &entry.params[binding.param as usize];
        match binding.source {
            BindingSource::Cache(id) => {
                let mut tensors = module.tensors.iter();
                let values = tensors.position(|t| t.storage == Storage::CacheValues(id));
                let values = match values.is_some_and(|t| absent(TensorId(t as u32))) {
                    true => cache::Values::Unused,
                    false => cache::Values::Needed,
                };
                match cache::bind(&param.name, arrays, options.kv_layout, values, &wanted) {
                    Ok(bound) => caches[id.index()] = Some(bound),
                    Err(mut more) => faults.append(&mut more),
                }
            }
            BindingSource::Tensor(id) => {
                let array = arrays.get(&param.name);
                if array.is_none() && !absent(id) {
                    let fault =
                        faults::missing(&param.name, &wsp_plan::declared_shape(module, id), arrays, &wanted);
                    faults.push(match module.tensors[id.index()].elem {
                        Elem::Fixed(dtype) if !dtype.is_float() => fault,
                        _ => fault.note("it is an input: no kernel that this launch runs stores to it"),
                    });
                }
                of_tensor[id.index()] = Some((param.name.as_str(), array));
            }
            BindingSource::Param(_) => {}
        }
    }
    for (id, cache) in module.caches.iter().enumerate() {
        if caches[id].is_none() && faults.is_empty() {
            faults.push(
                Diagnostic::error(
                    codes::MISSING_ARRAY,
                    format!("cache `{}` is not an argument of the launch", cache.name),
                )
                .at(cache.span, "declared here")
                .help(format!("pass it: `PTO_LAUNCH(…, {{ .{} = kv }})`", cache.name)),
            );
        }
    }
    if faults.is_empty() {
        Ok(Inputs { module, arrays, options, demand, caches, of_tensor })
    } else {
        Err(faults)
    }
}

/// Names of the arrays that the parameters of an entry take.
fn array_names(entry: &Entry) -> Vec<String> {
    let mut known = Vec::new();
    for param in &entry.params {
        match param.ty {
            EntryTy::PagedKvCache => {
                known.extend(
                    ["k", "v", "indptr", "indices", "last_page_len"].map(|f| format!("{}.{f}", param.name)),
                );
            }
            _ => known.push(param.name.clone()),
        }
    }
    known
}

/// Refuses arrays that no parameter names.
fn check_names(
    module: &Module,
    entry: &Entry,
    arrays: &Metadata<'_>,
    demand: Demand<'_>,
) -> Result<(), Vec<Diagnostic>> {
    let names = array_names(entry);
    let taken: Vec<&str> = names.iter().map(String::as_str).chain(demand.others.iter().copied()).collect();
    let is_value = |name: &str| module.param_named(name).is_some() || demand.settings.contains(&name);
    let unknown = arrays.names().filter(|name| !taken.contains(name));
    let faults: Vec<Diagnostic> =
        unknown.map(|name| faults::not_taken("the program", name, &taken, is_value(name))).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
