//! Units from bytes.

use super::codes::{DAMAGED, NOT_A_UNIT};
use super::document;
use wsp_core::DType;
use wsp_core::tg::read::{Ptog, ReadError};
use wsp_core::tg::wire::{DOCUMENT_VERSION, SpanRow};
use wsp_core::tg::{EventNo, GraphNo, KernelNo, ScalarType, Symbol, TensorNo};
use wsp_diag::{Diagnostic, FileId, Span};
use wsp_ir::tg::{
    ArgDecl, ArgSource, ExternTensor, Names, Namespace, RefValue, Reference, SetPool, Strings, TgModule, Use,
};

/// The unit that the bytes of a file hold. `name` is that of the file, for messages.
///
/// Version 1 has no names and no declarations: its kernels' entries are called `entry_` and their offset, and tensors that it
/// does not allocate are external.
///
/// # Errors
/// Bytes that are no unit, of a version that is not known, cut off or damaged.
pub fn decode(name: &str, bytes: &[u8]) -> Result<TgModule, Vec<Diagnostic>> {
    let unit = Ptog::read(bytes).map_err(|error| vec![unreadable(name, &error)])?;
    if unit.version == DOCUMENT_VERSION {
        return Ok(document::module(&unit));
    }
    let mut module = TgModule {
        strings: strings(name, &unit)?,
        exprs: unit.expr_ops().collect(),
        sets: SetPool {
            kernels: unit.set_kernels.iter().map(|kernel| KernelNo(kernel.get())).collect(),
            tensors: unit.set_tensors.iter().map(|tensor| TensorNo(tensor.get())).collect(),
        },
        ..TgModule::default()
    };
    module.instrs.reserve_exact(unit.instrs().len());
    module.instrs.extend(unit.instrs());
    let names = unit.names.iter().map(|row| {
        let space = Namespace::ALL.get(row.space.get() as usize).copied()?;
        Some((space, GraphNo(row.graph.get()), row.number.get(), Symbol(row.name.get())))
    });
    let names: Option<Names> = names.collect();
    module.names = names.ok_or_else(|| vec![damaged(name, "a name is of nothing that has names")])?;
    declarations(&unit, &mut module);
    places(&unit, &mut module);
    Ok(module)
}

fn unreadable(name: &str, error: &ReadError) -> Diagnostic {
    let (code, what) = match error {
        ReadError::Magic { .. } | ReadError::Version { .. } | ReadError::Revision { .. } => {
            (NOT_A_UNIT, "is no task graph that can be read")
        }
        _ => (DAMAGED, "is a damaged task graph"),
    };
    Diagnostic::error(code, format!("`{name}` {what}")).note(error.to_string())
}

fn damaged(name: &str, fact: impl Into<String>) -> Diagnostic {
    Diagnostic::error(DAMAGED, format!("`{name}` is a damaged task graph")).note(fact)
}

/// The strings as they stand in the file.
fn strings(name: &str, unit: &Ptog<'_>) -> Result<Strings, Vec<Diagnostic>> {
    let ends = unit.string_ends.iter().map(|end| end.get()).collect();
    Strings::from_parts(unit.text.to_owned(), ends)
        .ok_or_else(|| vec![damaged(name, "strings do not end where they should")])
}

fn declarations(unit: &Ptog<'_>, module: &mut TgModule) {
    let span = Span::default();
    module.uses = unit.uses.iter().map(|path| Use { path: Symbol(path.get()), span }).collect();
    module.extern_events = unit.extern_events.iter().map(|event| (EventNo(event.get()), span)).collect();
    for row in unit.externs {
        let (first, rank) = (row.first.get() as usize, row.rank.get() as usize);
        module.externs.push(ExternTensor {
            tensor: TensorNo(row.tensor_id.get()),
            dtype: u8::try_from(row.dtype.get()).ok().and_then(DType::from_code),
            shape: unit.extents.iter().skip(first).take(rank).map(|extent| extent.get()).collect(),
            span,
        });
    }
    for row in unit.args {
        module.args.push(ArgDecl {
            name: Symbol(row.name.get()),
            source: if row.source == 0 { ArgSource::Launch } else { ArgSource::Host },
            ty: ScalarType::ALL.get(usize::from(row.ty)).map_or(ScalarType::I64, |(ty, _)| *ty),
            default: (row.has_default != 0).then_some(row.default.get() as i64),
            span,
        });
    }
    for row in unit.references {
        let (first, len) = (row.first.get() as usize, row.len.get() as usize);
        let bindings = unit.reference_args.iter().skip(first).take(len).map(|arg| {
            let value = arg.value.get();
            let value = match arg.kind.get() {
                0 => RefValue::Tensor(TensorNo(value as u32)),
                1 => RefValue::Const(value as i64),
                _ => RefValue::Arg(value as u32),
            };
            (Symbol(arg.name.get()), value)
        });
        let reference = Reference { name: Symbol(row.name.get()), bindings: bindings.collect(), span };
        module.references.push(reference);
    }
}

/// Places, if the file has them.
fn places(unit: &Ptog<'_>, module: &mut TgModule) {
    let Some(debug) = unit.debug else { return };
    let (instrs, declared) =
        debug.spans.split_at_checked(debug.header.instrs.get() as usize).unwrap_or((debug.spans, &[]));
    module.spans = instrs.iter().map(span).collect();
    let places = (module.uses.iter_mut().map(|file| &mut file.span))
        .chain(module.externs.iter_mut().map(|tensor| &mut tensor.span))
        .chain(module.extern_events.iter_mut().map(|(_, span)| span))
        .chain(module.args.iter_mut().map(|arg| &mut arg.span))
        .chain(module.references.iter_mut().map(|reference| &mut reference.span));
    for (place, row) in places.zip(declared) {
        *place = span(row);
    }
}

fn span(row: &SpanRow) -> Span {
    Span::new(FileId(row.file.get()), row.start.get(), row.end.get())
}
