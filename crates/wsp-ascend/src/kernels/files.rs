//! Kernels of a file as a package: a file of C++ for each.

use super::{Chip, KernelSource, codes, emit_kernel_of, identifier, known_elements};
use std::path::{Path, PathBuf};
use wsp_backend::codes::NO_FILES;
use wsp_backend::{CheckedKernel, CheckedKernels, Emitted, KernelsSource, MemoryUse};
use wsp_core::{DType, FuncId, ParamId};
use wsp_diag::{Diagnostic, Diagnostics, Severity, did_you_mean};
use wsp_ir::{
    Const, Elem, Expr, ExprKind, FuncKind, Function, LocalTy, Module, ParamSource, Verified, into_verified,
};
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_tile::{Known, MemoryId, fold};

/// The kernels of a file for a target.
///
/// # Errors
/// A name that nothing has, a parameter that is needed, and what stands in the way of each kernel.
pub(crate) fn emit(source: &KernelsSource) -> Result<Emitted, Diagnostics> {
    let mut emitted = Emitted::default();
    let (mut found, all) = made(source)?;
    for made in all {
        match made {
            Ok(made) => {
                let texts = files(&made).map(|(path, text)| (path, text.as_bytes().to_vec()));
                emitted.package.files.extend(texts);
                emitted.notes.extend(made.notes);
            }
            Err(faults) => found.extend(faults),
        }
    }
    if found.is_empty() { Ok(emitted) } else { Err(Diagnostics(found)) }
}

/// What [`emit`] would say of each kernel of a file. Of one without kernels a note says so.
pub(crate) fn check(source: &KernelsSource) -> CheckedKernels {
    let mut checked = CheckedKernels::default();
    match made(source) {
        Ok((unmet, all)) => {
            checked.found = unmet;
            for made in all {
                match made {
                    Ok(made) => {
                        checked.kernels.push(summary(&made, source));
                        checked.found.extend(made.notes);
                    }
                    Err(faults) => checked.found.extend(faults),
                }
            }
        }
        Err(Diagnostics(faults)) => checked.found = faults,
    }
    if source.kernel.is_none() {
        for fault in checked.found.iter_mut().filter(|fault| fault.code == codes::NO_KERNELS) {
            *fault = Diagnostic::new(
                fault.code,
                Severity::Note,
                "the file has no kernels: nothing of it is for cores",
            );
        }
    }
    checked
}

/// How much of each memory a kernel takes: as much as that of its tasks which takes most.
fn summary(made: &KernelSource, source: &KernelsSource) -> CheckedKernel {
    let tasks: Vec<&KernelSource> =
        if made.tasks.is_empty() { vec![made] } else { made.tasks.iter().collect() };
    let ends = tasks
        .iter()
        .flat_map(|task| &task.program.buffers)
        .flat_map(|buffer| buffer.at.iter().map(|at| (buffer.memory, at.saturating_add(buffer.bytes))));
    let mut used: OrderedMap<MemoryId, u64> = OrderedMap::new();
    for (memory, end) in ends {
        let most = used.entry(memory).or_default();
        *most = end.max(*most);
    }
    let table = Chip::of(source.target.platform).map(super::memories);
    let of = |(id, used): (MemoryId, u64)| {
        let memory = table.as_ref()?.memories.get(id.index())?;
        Some(MemoryUse { memory: memory.name.clone(), used, capacity: memory.capacity })
    };
    let memories = used.into_iter().filter_map(of).collect();
    CheckedKernel { name: made.program.name.clone(), tasks: tasks.len(), memories }
}

/// The files of a kernel, and of its tasks.
fn files(made: &KernelSource) -> impl Iterator<Item = (PathBuf, &str)> {
    let whole = if made.tasks.is_empty() { "cpp" } else { "hpp" };
    let tasks = made.tasks.iter().map(|task| (&task.name, "cpp", task.text.as_str()));
    let all = [(&made.name, whole, made.text.as_str())].into_iter().chain(tasks);
    all.map(|(name, kind, text)| (PathBuf::from(format!("{name}.{kind}")), text))
}

/// Findings that say of which kernel they are.
pub(crate) fn named(mut found: Vec<Diagnostic>, kernel: &str) -> Vec<Diagnostic> {
    let kernel = format!("`{kernel}`");
    for fault in found.iter_mut().filter(|fault| !fault.message.contains(&kernel)) {
        fault.notes.push(format!("in kernel {kernel}"));
    }
    found
}

/// A kernel, or what stands in its way.
type Made = Result<KernelSource, Vec<Diagnostic>>;

/// Requirements that are not met, and every kernel that is asked for.
fn made(source: &KernelsSource) -> Result<(Vec<Diagnostic>, Vec<Made>), Diagnostics> {
    let Some(chip) = Chip::of(source.target.platform) else {
        let message = format!("target `{}` has no cores that kernels are written for", source.target.name);
        return Err(Diagnostic::error(NO_FILES, message).into());
    };
    let module = into_verified(Module::clone(&source.file.module))?;
    let params = params(&module, &source.file.set)?;
    let kernels = wanted(&module, source.kernel.as_deref())?;
    let mut apart = Module::clone(&module);
    names_apart(&mut apart, &kernels);
    let module = into_verified(apart)?;
    let elems: Vec<Option<DType>> = module
        .tensors
        .iter()
        .map(|tensor| match tensor.elem {
            Elem::Fixed(elem) => Some(elem),
            Elem::Of(_) => None,
        })
        .collect();
    let known = Known { params: &params, elems: &elems };
    let mut paths = OrderedSet::new();
    let mut one = |kernel: FuncId| {
        let function = &module.functions[kernel.index()];
        let mut missing = missing(&module, function, &params);
        if !missing.is_empty() {
            missing.extend(known_elements(&module, function, known).err().into_iter().flatten());
            return Err(missing);
        }
        let name = &source.file.module.functions[kernel.index()].name;
        let made = emit_kernel_of(&module, kernel, known, chip, None).map_err(|found| named(found, name))?;
        let mut made = KernelSource { notes: named(made.notes, name), ..made };
        made.program.name.clone_from(name);
        let twice = files(&made).map(|(path, _)| path).find(|path| !paths.insert(path.clone()));
        match twice {
            Some(twice) => Err(vec![same_file(&source.file.module, kernel, &twice)]),
            None => Ok(made),
        }
    };
    let all = kernels.into_iter().map(&mut one).collect();
    Ok((unmet(&module, known), all))
}

/// Requirements of the program that are false by what is known.
fn unmet(module: &Verified, known: Known<'_>) -> Vec<Diagnostic> {
    let is_false =
        |cond: &Expr| matches!(fold(module, known, cond).kind, ExprKind::Const(Const::Bool(false)));
    let told = |cond: &Expr| {
        let mut facts = OrderedSet::new();
        cond.any(&mut |e| {
            if let ExprKind::Param(id) = e.kind
                && let Some(Some(value)) = known.params.get(id.index())
            {
                facts.insert(format!("{} = {}", module.params[id.index()].name, number(*value)));
            }
            false
        });
        Diagnostic::error(codes::REQUIREMENT, "the program does not take these values of parameters")
            .at(cond.span, "this is false")
            .note(facts.into_iter().collect::<Vec<_>>().join(", "))
            .help("give others with `--set NAME=VALUE`")
    };
    module.requirements.iter().map(|of| &of.cond).filter(|cond| is_false(cond)).map(told).collect()
}

/// A value of a parameter.
fn number(value: Const) -> String {
    match value {
        Const::Bool(value) => value.to_string(),
        Const::Int(value) => value.to_string(),
        Const::Float(value) => value.to_string(),
    }
}

/// Gives kernels whose names are one identifier of C++, as `k` and `k_`, others: `k_n2`, with which the name of no kernel begins. Behind the
/// names of parts of a kernel is a number alone.
pub(crate) fn names_apart(module: &mut Module, kernels: &[FuncId]) {
    let names =
        kernels.iter().map(|kernel| identifier(&module.functions[kernel.index()].name).to_lowercase());
    let all: OrderedSet<String> = names.collect();
    let mut taken: OrderedSet<String> = OrderedSet::new();
    for kernel in kernels {
        let name = &mut module.functions[kernel.index()].name;
        let own = identifier(name);
        if taken.insert(own.clone()) {
            continue;
        }
        let is_free = |other: &String| !all.iter().any(|name| name.starts_with(&other.to_lowercase()));
        let mut others = (2_u32..).map(|number| format!("{own}_n{number}")).filter(is_free);
        if let Some(other) = others.find(|other| taken.insert(other.clone())) {
            *name = other;
        }
    }
}

/// A kernel that is called as a part of another.
fn same_file(module: &Module, kernel: FuncId, path: &Path) -> Diagnostic {
    let function = &module.functions[kernel.index()];
    let message =
        format!("kernel `{}` and one before it are both written to `{}`", function.name, path.display());
    Diagnostic::error(codes::NOT_EMITTED, message)
        .at(function.span, "")
        .note("parts of a kernel have its name with a number behind it")
        .help("give one of them another name, or emit one at a time with `--kernel NAME`")
}

/// The kernels that are asked for.
fn wanted(module: &Verified, name: Option<&str>) -> Result<Vec<FuncId>, Diagnostic> {
    let all: Vec<FuncId> = (0..module.functions.len())
        .filter(|at| matches!(module.functions[*at].kind, FuncKind::Kernel { .. }))
        .map(|at| FuncId(at as u32))
        .collect();
    if all.is_empty() {
        return Err(Diagnostic::error(codes::NO_KERNELS, "the file has no kernels")
            .help("define one: `PTO_KERNEL_IMPL(NAME) { … }`"));
    }
    let Some(name) = name else { return Ok(all) };
    let of = |id: &FuncId| module.functions[id.index()].name.as_str();
    all.iter().find(|id| of(id) == name).map(|id| vec![*id]).ok_or_else(|| {
        let fault = Diagnostic::error(codes::NO_KERNELS, format!("the file has no kernel `{name}`"));
        match did_you_mean(name, all.iter().map(of)) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.note(format!("it has {}", all.iter().map(of).collect::<Vec<_>>().join(", "))),
        }
    })
}

/// Values of parameters: those that are set, and defaults.
pub(crate) fn params(module: &Verified, set: &[(String, Const)]) -> Result<Vec<Option<Const>>, Diagnostics> {
    let ids = || (0..module.params.len() as u32).map(ParamId);
    let mut found = Vec::new();
    for (name, _) in set {
        if !ids().any(|id| module.user_names(id).any(|known| known == name)) {
            let fault = Diagnostic::error(codes::NOT_SET, format!("there is no parameter `{name}`"));
            let names = ids().flat_map(|id| module.user_names(id));
            found.push(match did_you_mean(name, names) {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None => fault.help("`wsp plan FILE` lists the parameters of a program"),
            });
        }
    }
    let mut values: Vec<Option<Const>> = Vec::new();
    for id in ids() {
        let param = &module.params[id.index()];
        let is_this = |name: &str| module.user_names(id).any(|known| known == name);
        let given = set.iter().rev().find(|(name, _)| is_this(name)).map(|(_, value)| *value);
        let value = match (&param.source, given) {
            (_, Some(given)) if given.fits(param.ty) => Some(given),
            (_, Some(given)) => {
                let (name, given, ty) = (&param.name, number(given), param.ty.c_name());
                let message = format!("`{name}` cannot be {given}: it is a `{ty}`");
                let fault = Diagnostic::error(codes::NOT_SET, message).at(param.span, "declared here");
                found.push(match param.ty.range() {
                    Some(range) => {
                        fault.help(format!("give it a whole number from {} to {}", range.low, range.high))
                    }
                    None => fault.help("give it `true`, `false` or a number, as its type has it"),
                });
                None
            }
            (ParamSource::Set { default: value } | ParamSource::Derived(value), None) => {
                let folded = fold(module, Known { params: &values, elems: &[] }, value);
                if let ExprKind::Const(value) = folded.kind { Some(value) } else { None }
            }
            (ParamSource::Shape { .. } | ParamSource::Entry, None) => None,
        };
        values.push(value);
    }
    if found.is_empty() { Ok(values) } else { Err(Diagnostics(found)) }
}

/// Parameters without a value that sizes of tiles depend on.
pub(crate) fn needed(module: &Verified, kernel: &Function, params: &[Option<Const>]) -> Vec<ParamId> {
    of_tiles(module, kernel, params).keys().copied().collect()
}

/// The same, each with the tiles.
fn of_tiles<'k>(
    module: &Verified,
    kernel: &'k Function,
    params: &[Option<Const>],
) -> OrderedMap<ParamId, Vec<&'k str>> {
    let mut needs: OrderedMap<ParamId, Vec<&str>> = OrderedMap::new();
    for local in &kernel.locals {
        let LocalTy::Tile(ty) = &local.ty else { continue };
        for size in [&ty.rows, &ty.cols] {
            each_param(module, size, &mut |id| {
                if params.get(id.index()).copied().flatten().is_none() {
                    let tiles = needs.entry(id).or_default();
                    if !tiles.contains(&local.name.as_str()) {
                        tiles.push(&local.name);
                    }
                }
            });
        }
    }
    needs
}

/// Parameters without a value that sizes of tiles depend on: a finding for each, with the tiles.
pub(crate) fn missing(module: &Verified, kernel: &Function, params: &[Option<Const>]) -> Vec<Diagnostic> {
    let one = |(id, tiles): (ParamId, Vec<&str>)| {
        let param = &module.params[id.index()];
        let tiles: Vec<String> = tiles.iter().map(|name| format!("`{name}`")).collect();
        let message = format!("`{}` is not set, and sizes of tiles depend on it", param.name);
        Diagnostic::error(codes::NOT_SET, message)
            .at(param.span, "declared here")
            .note(format!("of `{}`: {}", kernel.name, tiles.join(", ")))
            .help(format!("set it with `--set {}=VALUE`", param.name))
    };
    of_tiles(module, kernel, params).into_iter().map(one).collect()
}

/// Calls `f` with each parameter that a user gives and an expression follows from.
fn each_param(module: &Verified, e: &Expr, f: &mut dyn FnMut(ParamId)) {
    if let ExprKind::Param(id) = e.kind {
        match module.params.get(id.index()).map(|param| &param.source) {
            Some(ParamSource::Derived(value)) => each_param(module, value, f),
            _ => f(id),
        }
    }
    e.for_each_child(&mut |child| each_param(module, child, f));
}
