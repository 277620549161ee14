//! Bodies of kernels: functions over views of their tasks' regions.

mod expr;
mod stmt;
mod tile;

#[cfg(test)]
pub(super) use {expr::FORMS as SCALAR_FORMS, stmt::FORMS as STATEMENT_FORMS, tile::FORMS as TILE_FORMS};

use super::place::At;
use super::workload::dtype;
use crate::KernelBody;
use crate::wire::{Decoded, Fault, Fields, Json, codes, items, unknown_word};
use wsp_core::{DType, FuncId, LocalId, MAX_RANK, StructId, TensorId};
use wsp_ir::workload::{ParamKind, Signature};
use wsp_ir::{
    Consumer, Dim, Elem, Expr, Field, FuncKind, Function, Local, LocalTy, Module, ScalarTy, Storage,
    StructDef, Tensor, TileRole, TileTy,
};
use wsp_plan::view_kernel::{FieldSource, ViewKernelSource, ViewShape};

const ROLES: &[(&str, TileRole)] =
    &[("vec", TileRole::Vec), ("left", TileRole::Left), ("right", TileRole::Right), ("acc", TileRole::Acc)];

/// Words for types of scalars.
pub(super) const SCALARS: &[(&str, ScalarTy)] = &[
    ("bool", ScalarTy::Bool),
    ("i32", ScalarTy::I32),
    ("u32", ScalarTy::U32),
    ("i64", ScalarTy::I64),
    ("u64", ScalarTy::U64),
    ("f32", ScalarTy::F32),
    ("f64", ScalarTy::F64),
];

/// A variable of the function.
fn local(json: &Json<'_>) -> Decoded<LocalId> {
    json.number().map(LocalId)
}

/// The tensor of a view.
fn view(json: &Json<'_>) -> Decoded<TensorId> {
    json.number().map(TensorId)
}

/// The body of a kernel with this signature.
pub(super) fn body(json: &Json<'_>, signature: &Signature, at: At<'_>) -> Decoded<KernelBody> {
    at.form(json, |fields, at| {
        Ok(match fields.required("body", Json::text)? {
            "none" => KernelBody::None,
            "library" => KernelBody::Library,
            "python" => KernelBody::Foreign { key: fields.required("key", Json::string)? },
            "compiled" => KernelBody::Compiled(Box::new(at.compiled(fields, signature)?)),
            other => {
                let bodies = ["none", "library", "python", "compiled"];
                return Err(unknown_word(other, bodies.into_iter()).in_field("body"));
            }
        })
    })
}

/// How many scalar and how many tensor parameters there are.
fn counts(signature: &Signature) -> (usize, usize) {
    let Signature::Declared(params) = signature else { return (0, 0) };
    let scalars = params.iter().filter(|param| param.kind == ParamKind::Scalar).count();
    (scalars, params.len() - scalars)
}

impl At<'_> {
    fn compiled(self, fields: &mut Fields<'_>, signature: &Signature) -> Decoded<ViewKernelSource> {
        let (scalars, tensors) = counts(signature);
        let named = fields.list("views", |json| self.view_shape(json))?;
        if named.len() != tensors {
            let message = format!("there are {} views for {tensors} tensor parameters", named.len());
            return Err(Fault::new(codes::BODY, message).in_field("views"));
        }
        let tensors = named.iter().map(|(name, shape)| self.tensor_of(name, shape)).collect();
        let mut module = Module { tensors, ..Module::default() };
        let views: Vec<ViewShape> = named.into_iter().map(|(_, shape)| shape).collect();
        let words = fields.list("fields", |json| self.field_source(json, scalars, &views))?;
        let (declared, sources): (Vec<Field>, Vec<FieldSource>) = words.into_iter().unzip();
        let function = fields.required("function", |json| self.function(json))?;
        module.structs.push(StructDef {
            name: "Descriptor".to_owned(),
            fields: declared,
            consumer: Consumer::Kernel(FuncId(0)),
            span: self.span,
        });
        module.functions.push(function);
        Ok(ViewKernelSource { module, views, fields: sources })
    }

    fn view_shape(self, json: &Json<'_>) -> Decoded<(String, ViewShape)> {
        self.form(json, |fields, _| {
            let name = fields.name()?;
            let dtype = fields.required("dtype", dtype)?;
            let keep: Vec<u8> = fields.list("keep", Json::number)?;
            let extent = |json: &Json<'_>| match json {
                Json::Null => Ok(None),
                _ => json.number().map(Some),
            };
            let extents = fields.list("extents", extent)?;
            let rises = keep.is_sorted_by(|a, b| a < b);
            if keep.is_empty() || !rises || keep.last().is_some_and(|last| usize::from(*last) >= MAX_RANK) {
                let message = format!("the view `{name}` keeps the dimensions {keep:?}");
                return Err(Fault::new(codes::BODY, message)
                    .in_field("keep")
                    .note(format!("it keeps one or more, in rising order, each below {MAX_RANK}")));
            }
            if keep.len() != extents.len() {
                let (kept, known) = (keep.len(), extents.len());
                let message = format!("the view `{name}` keeps {kept} dimensions, and has {known} extents");
                return Err(Fault::new(codes::BODY, message).in_field("extents"));
            }
            Ok((name, ViewShape { keep, dtype, extents }))
        })
    }

    /// The tensor of a view. Views bring their extents along, so the dimensions only count; one that is not known is 0.
    fn tensor_of(self, name: &str, shape: &ViewShape) -> Tensor {
        let dim = |extent: &Option<u32>| Dim::Expr(Expr::u32(extent.unwrap_or_default(), self.span));
        Tensor {
            name: name.to_owned(),
            elem: Elem::Fixed(shape.dtype),
            dims: shape.extents.iter().map(dim).collect(),
            storage: Storage::Launch,
            span: self.span,
        }
    }

    /// A word of the descriptor, and where it comes from.
    fn field_source(
        self,
        json: &Json<'_>,
        scalars: usize,
        views: &[ViewShape],
    ) -> Decoded<(Field, FieldSource)> {
        self.form(json, |fields, at| {
            let name = fields.name()?;
            let scalar = fields.optional("scalar", |json| entry(json, scalars, "scalar parameter"))?;
            let source = match scalar {
                Some(scalar) => FieldSource::Scalar(scalar),
                None => {
                    let view = fields.required("view", |json| entry(json, views.len(), "view"))?;
                    let kept = views.get(view as usize).map_or(0, |shape| shape.keep.len());
                    let dim = fields.required("dim", |json| entry(json, kept, "kept dimension"))?;
                    FieldSource::Extent { view, dim }
                }
            };
            Ok((Field { name, span: at.span }, source))
        })
    }

    fn function(self, json: &Json<'_>) -> Decoded<Function> {
        self.form(json, |fields, at| {
            let name = fields.name()?;
            let locals = fields.list("locals", |json| at.local(json))?;
            let body = fields.list("body", |json| at.stmt(json))?;
            let kind = FuncKind::Kernel { descriptor: Some(StructId(0)) };
            Ok(Function { name, kind, params: 1, locals, ret: None, body, span: at.span })
        })
    }

    fn local(self, json: &Json<'_>) -> Decoded<Local> {
        self.form(json, |fields, at| {
            let name = fields.name()?;
            let ty = match fields.required("ty", Json::text)? {
                "descriptor" => LocalTy::Descriptor(StructId(0)),
                "tile" => {
                    let extent = |json: &Json<'_>| json.number().map(|extent| Expr::u32(extent, at.span));
                    let (rows, cols) = (fields.required("rows", extent)?, fields.required("cols", extent)?);
                    let elem: DType = fields.required("elem", dtype)?;
                    let role = fields.word("role", ROLES)?;
                    LocalTy::Tile(TileTy { role, elem: Elem::Fixed(elem), rows, cols })
                }
                word => {
                    let scalar = SCALARS.iter().find(|(known, _)| *known == word);
                    let (_, ty) = scalar.ok_or_else(|| {
                        let words = SCALARS.iter().map(|(word, _)| *word).chain(["descriptor", "tile"]);
                        unknown_word(word, words).in_field("ty")
                    })?;
                    LocalTy::Scalar(*ty)
                }
            };
            Ok(Local { name, ty, span: at.span })
        })
    }
}

/// The number of an entry of a table of this length.
fn entry(json: &Json<'_>, len: usize, what: &str) -> Decoded<u32> {
    let index: u32 = json.number()?;
    if (index as usize) < len {
        return Ok(index);
    }
    Err(Fault::new(codes::UNKNOWN_ID, format!("{what} {index} does not exist; there are {len}")))
}

/// The scalar type in the field `ty`.
fn scalar_type(fields: &mut Fields<'_>) -> Decoded<ScalarTy> {
    fields.word("ty", SCALARS)
}

/// The type of numbers that tiles give in the field `ty`, `f32` where it is left out.
fn tile_number_type(fields: &mut Fields<'_>) -> Decoded<ScalarTy> {
    const TYPES: &[(&str, ScalarTy)] =
        &[("f32", ScalarTy::F32), ("f64", ScalarTy::F64), ("i64", ScalarTy::I64), ("u64", ScalarTy::U64)];
    let given = fields.optional("ty", |json| {
        let text = json.text()?;
        let found = TYPES.iter().find(|(word, _)| *word == text);
        found.map(|(_, ty)| *ty).ok_or_else(|| unknown_word(text, TYPES.iter().map(|(word, _)| *word)))
    })?;
    Ok(given.unwrap_or(ScalarTy::F32))
}

/// The expressions of a list.
fn exprs(at: At<'_>, json: &Json<'_>) -> Decoded<Vec<Expr>> {
    items(json, |json| at.scalar(json))
}
