//! The references that a unit names, as programs name theirs.

use super::super::comparison::{number, operands_on};
use wsp_backend::KvLayout;
use wsp_check::generate::known_params;
use wsp_check::reference::{self, Comparison, Context};
use wsp_core::tg::GraphNo;
use wsp_diag::Diagnostic;
use wsp_ir::tg::{Namespace, RefValue, TgModule};
use wsp_ir::{Param, Reference};
use wsp_ordered::OrderedMap;
use wsp_plan::{Arrays, KernelFile, ParamValue, UnitSource};

/// The references of a unit. A tensor plays its role under its name; a number under the name of the role, and a declared scalar
/// under its own, see [`values`].
pub(super) fn references(module: &TgModule) -> Vec<Reference> {
    let one = |reference: &wsp_ir::tg::Reference| Reference {
        name: module.str(reference.name).to_owned(),
        roles: reference
            .bindings
            .iter()
            .map(|(role, value)| {
                let role = module.str(*role).to_owned();
                let name = match value {
                    RefValue::Tensor(tensor) => module.name(Namespace::Tensor, GraphNo(0), tensor.0),
                    RefValue::Const(_) => role.clone(),
                    RefValue::Arg(arg) => scalar_name(module, *arg),
                };
                (role, name)
            })
            .collect(),
        span: reference.span,
    };
    module.references.iter().map(one).collect()
}

fn scalar_name(module: &TgModule, arg: u32) -> String {
    module.args.get(arg as usize).map_or_else(String::new, |arg| module.str(arg.name).to_owned())
}

/// Tensors of which the references of a unit normalise the rows.
pub(super) fn normalised(module: &TgModule) -> Vec<String> {
    let units = references(module);
    let indexers = units.iter().filter(|reference| reference.name == reference::DEEPSEEK_INDEXER);
    indexers.filter_map(|indexer| reference::role(indexer, "hidden").ok()).map(str::to_owned).collect()
}

/// What is wrong with the references of a unit.
pub(super) fn verify(module: &TgModule) -> Vec<Diagnostic> {
    references(module).iter().filter_map(|r| reference::verify(r).err()).flatten().collect()
}

/// Numbers of a run, by name: declared scalars, else parameters of the kernels.
pub(super) fn params(unit: &UnitSource, scalars: &[(String, i64)]) -> OrderedMap<String, ParamValue> {
    let mut values = OrderedMap::new();
    for KernelFile { module, set } in &unit.files {
        let known = module.params.iter().zip(known_params(module, set));
        let of = |param: &Param, value: f64| match param.ty.is_float() {
            true => ParamValue::Float(value),
            false => ParamValue::Int(value as i128),
        };
        values.extend(
            known.filter_map(|(param, value)| Some((param.name.clone(), of(param, value?.as_f64())))),
        );
    }
    let module = &unit.module;
    for arg in &module.args {
        let name = module.str(arg.name);
        let set = scalars.iter().rev().find(|(n, _)| n == name).map(|(_, value)| *value);
        if let Some(value) = set.or(arg.default) {
            values.insert(name.to_owned(), ParamValue::Int(value.into()));
        }
    }
    values
}

/// Numbers of a reference, with their values in this run: those that it is given, else those of the run.
fn values(unit: &UnitSource, at: usize, scalars: &[(String, i64)]) -> OrderedMap<String, f64> {
    let of_run = params(unit, scalars).into_iter();
    let mut values: OrderedMap<String, f64> = of_run.map(|(name, value)| (name, number(value))).collect();
    let module = &unit.module;
    for (role, value) in &module.references[at].bindings {
        if let RefValue::Const(value) = value {
            values.insert(module.str(*role).to_owned(), *value as f64);
        }
    }
    values
}

/// Compares the outputs of a run with every reference of its unit.
///
/// # Errors
/// When a reference is named wrong or cannot be computed.
pub(super) fn compare(
    unit: &UnitSource,
    inputs: &Arrays,
    outputs: &Arrays,
    scalars: &[(String, i64)],
) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    let mut all = Vec::new();
    for (at, reference) in references(&unit.module).iter().enumerate() {
        let values = values(unit, at, scalars);
        let cx = Context {
            inputs,
            outputs,
            params: &|name| values.get(name).copied(),
            layout: KvLayout::default(),
            threads: wsp_check::cores() as usize,
            operands: operands_on(unit.target, inputs),
        };
        all.extend(reference::check(reference, &cx)?);
    }
    Ok(all)
}
