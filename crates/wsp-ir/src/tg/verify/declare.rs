//! Declarations: external tensors and events, declared scalars, references, used files.

use super::{Checker, Report as _, rule};
use crate::tg::{Namespace, RefValue};
use rustc_hash::FxHashMap;
use wsp_core::tg::{GraphNo, ScalarType, TensorNo};
use wsp_diag::{Diagnostic, Span};

impl Checker<'_> {
    pub(super) fn declarations(&mut self) {
        self.extern_tensors();
        self.extern_events();
        self.scalars();
        self.references();
        let module = self.module;
        for used in module.uses.iter().filter(|used| module.str(used.path).is_empty()) {
            declaration(used.span, "a used file has no name", "").help("use \"FILE.pto\"").report(self);
        }
    }

    fn extern_tensors(&mut self) {
        let module = self.module;
        let mut first: FxHashMap<TensorNo, Span> = FxHashMap::default();
        for tensor in &module.externs {
            let name = self.tensor_name(tensor.tensor);
            if tensor.tensor == TensorNo::NONE {
                declaration(tensor.span, "tensor 0 is declared", "0 stands for no tensor")
                    .help("number tensors from 1")
                    .report(self);
            }
            if let Some(&first) = first.get(&tensor.tensor) {
                declaration(
                    tensor.span,
                    &format!("external tensor `{name}` is declared twice"),
                    "again here",
                )
                .label(first, "first declared here")
                .help("remove one of the two")
                .report(self);
            }
            first.entry(tensor.tensor).or_insert(tensor.span);
            if let Some(axis) = tensor.shape.iter().position(|extent| *extent == 0) {
                let message = format!("external tensor `{name}` is empty: its dimension {axis} is 0");
                declaration(tensor.span, &message, "").help("give each dimension at least 1").report(self);
            } else if tensor.dtype.is_some() && !tensor.shape.is_empty() && tensor.bytes().is_none() {
                let message = format!("external tensor `{name}` has more bytes than can be counted");
                declaration(tensor.span, &message, &format!("shape {:?}", tensor.shape))
                    .help("give a smaller shape")
                    .report(self);
            } else if tensor.dtype.is_none() && !tensor.shape.is_empty() {
                let message = format!("external tensor `{name}` has a shape but no type");
                declaration(tensor.span, &message, "").help("give both or neither").report(self);
            }
        }
    }

    fn extern_events(&mut self) {
        let module = self.module;
        let mut first: FxHashMap<u32, Span> = FxHashMap::default();
        for &(event, span) in &module.extern_events {
            if let Some(&first) = first.get(&event.0) {
                let name = module.name(Namespace::Event, GraphNo(0), event.0);
                declaration(span, &format!("external event `{name}` is declared twice"), "again here")
                    .label(first, "first declared here")
                    .help("remove one of the two")
                    .report(self);
            }
            first.entry(event.0).or_insert(span);
        }
    }

    fn scalars(&mut self) {
        let module = self.module;
        let mut first: FxHashMap<&str, Span> = FxHashMap::default();
        for arg in &module.args {
            let name = module.str(arg.name);
            if name.is_empty() {
                declaration(arg.span, "a declared scalar has no name", "").help("name it").report(self);
            }
            if let Some(&first) = first.get(name) {
                declaration(arg.span, &format!("scalar `{name}` is declared twice"), "again here")
                    .label(first, "first declared here")
                    .help("remove one of the two")
                    .report(self);
            }
            first.entry(name).or_insert(arg.span);
            let (least, most) = range_of(arg.ty);
            if let Some(value) = arg.default.filter(|value| *value < least || *value > most) {
                let message = format!("the default of `{name}` does not fit its type");
                declaration(arg.span, &message, &format!("{value} is not in {least} to {most}"))
                    .help("give a smaller value or a larger type")
                    .report(self);
            }
        }
    }

    fn references(&mut self) {
        let module = self.module;
        for reference in &module.references {
            let what = module.str(reference.name);
            for (at, &(param, value)) in reference.bindings.iter().enumerate() {
                let param_name = module.str(param);
                if reference.bindings[..at].iter().any(|(other, _)| *other == param) {
                    let message = format!("parameter `{param_name}` of reference `{what}` is given twice");
                    declaration(reference.span, &message, "").help("remove one of the two").report(self);
                }
                let missing = match value {
                    RefValue::Tensor(no) if self.outline.tensor(no).is_none() => {
                        format!("tensor `{}`", self.tensor_name(no))
                    }
                    RefValue::Arg(arg) if arg as usize >= module.args.len() => {
                        format!("declared scalar {arg}")
                    }
                    _ => continue,
                };
                let message = format!("parameter `{param_name}` of reference `{what}` is unknown: {missing}");
                declaration(reference.span, &message, "")
                    .help("name a tensor, a declared scalar or a number")
                    .report(self);
            }
        }
    }
}

/// A fault of a declaration. Without a source its place is nowhere.
fn declaration(span: Span, message: &str, label: &str) -> Diagnostic {
    let fault = Diagnostic::error(rule::DECLARATION, message);
    if span == Span::default() && !label.is_empty() { fault.note(label) } else { fault.at(span, label) }
}

fn range_of(ty: ScalarType) -> (i64, i64) {
    match ty {
        ScalarType::U8 => (0, u8::MAX.into()),
        ScalarType::U32 => (0, u32::MAX.into()),
        ScalarType::I32 => (i32::MIN.into(), i32::MAX.into()),
        ScalarType::U64 => (0, i64::MAX),
        ScalarType::I64 => (i64::MIN, i64::MAX),
    }
}
