//! Types as the source writes them.

use super::Sema;
use super::body::Body;
use super::codes;
use super::diags::{Reported, Res};
use super::names::{Symbol, with_suggestion};
use crate::ast::{self, Indirection, TemplateArg, TypeBase};
use wsp_core::words::counted;
use wsp_core::{DType, StructId, limits};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Elem, Expr, ScalarTy, TileRole, TileTy};

/// What the name of a type says, before its arguments and indirection are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Head {
    /// `void`
    Void,
    /// `auto`
    Auto,
    /// The type of a variable.
    Scalar(ScalarTy),
    /// A type that array elements can have and variables cannot, such as `half`.
    Element(DType),
    /// `VecTile` and its like.
    Tile(TileRole),
    /// `Tensor`
    Tensor,
    /// `PagedKVCache`
    Cache,
    /// A descriptor type.
    Struct(StructId),
}

/// Every type name but those of descriptors.
const HEADS: &[(&str, Head)] = &[
    ("void", Head::Void),
    ("auto", Head::Auto),
    ("bool", Head::Scalar(ScalarTy::Bool)),
    ("int32_t", Head::Scalar(ScalarTy::I32)),
    ("int", Head::Scalar(ScalarTy::I32)),
    ("signed", Head::Scalar(ScalarTy::I32)),
    ("uint32_t", Head::Scalar(ScalarTy::U32)),
    ("unsigned", Head::Scalar(ScalarTy::U32)),
    ("int64_t", Head::Scalar(ScalarTy::I64)),
    ("long", Head::Scalar(ScalarTy::I64)),
    ("ptrdiff_t", Head::Scalar(ScalarTy::I64)),
    ("uint64_t", Head::Scalar(ScalarTy::U64)),
    ("size_t", Head::Scalar(ScalarTy::U64)),
    ("uintptr_t", Head::Scalar(ScalarTy::U64)),
    ("float", Head::Scalar(ScalarTy::F32)),
    ("double", Head::Scalar(ScalarTy::F64)),
    ("half", Head::Element(DType::F16)),
    ("float16_t", Head::Element(DType::F16)),
    ("bfloat16_t", Head::Element(DType::Bf16)),
    ("float8_e4m3_t", Head::Element(DType::F8E4m3)),
    ("float8_e5m2_t", Head::Element(DType::F8E5m2)),
    ("int8_t", Head::Element(DType::I8)),
    ("int16_t", Head::Element(DType::I16)),
    ("uint8_t", Head::Element(DType::U8)),
    ("uint16_t", Head::Element(DType::U16)),
    ("VecTile", Head::Tile(TileRole::Vec)),
    ("LeftTile", Head::Tile(TileRole::Left)),
    ("RightTile", Head::Tile(TileRole::Right)),
    ("AccTile", Head::Tile(TileRole::Acc)),
    ("AccumulationTile", Head::Tile(TileRole::Acc)),
    ("Tensor", Head::Tensor),
    ("PagedKVCache", Head::Cache),
];

/// Names of the element types of tiles.
const TILE_ELEMENTS: [&str; 13] = [
    "float",
    "double",
    "half",
    "bfloat16_t",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "bool",
];

/// The element type that stores a scalar type.
pub(crate) fn dtype_of(ty: ScalarTy) -> DType {
    match ty {
        ScalarTy::Bool => DType::Bool,
        ScalarTy::I32 => DType::I32,
        ScalarTy::U32 => DType::U32,
        ScalarTy::I64 => DType::I64,
        ScalarTy::U64 => DType::U64,
        ScalarTy::F32 => DType::F32,
        ScalarTy::F64 => DType::F64,
    }
}

/// The scalar that an element of an integer array becomes.
pub(crate) fn element_scalar(dtype: DType) -> Option<ScalarTy> {
    match dtype {
        DType::Bool | DType::U8 | DType::U16 | DType::U32 => Some(ScalarTy::U32),
        DType::I8 | DType::I16 | DType::I32 => Some(ScalarTy::I32),
        DType::I64 => Some(ScalarTy::I64),
        DType::U64 => Some(ScalarTy::U64),
        DType::F32 | DType::F64 | DType::F16 | DType::Bf16 | DType::F8E4m3 | DType::F8E5m2 => None,
    }
}

/// The name of an element type.
pub(crate) fn element_name(dtype: DType) -> &'static str {
    let is = |head: &Head| match head {
        Head::Scalar(scalar) => dtype_of(*scalar) == dtype,
        Head::Element(element) => *element == dtype,
        _ => false,
    };
    HEADS.iter().find(|(_, head)| is(head)).map_or(dtype.name(), |(name, _)| name)
}

/// The name of a tile type.
pub(crate) fn role_name(role: TileRole) -> &'static str {
    match role {
        TileRole::Vec => "VecTile",
        TileRole::Left => "LeftTile",
        TileRole::Right => "RightTile",
        TileRole::Acc => "AccTile",
    }
}

impl Sema<'_> {
    /// What the name of a type says.
    pub(crate) fn head(&mut self, ty: &ast::Type) -> Res<Head> {
        let ident = match &ty.base {
            TypeBase::Named(ident) => ident,
            TypeBase::DtypeOf(_) => {
                return Err(self.not_allowed(
                    ty.span,
                    "`PTO_DTYPE` is for elements of tiles and tensors",
                    "write `float`",
                ));
            }
        };
        let name = ident.as_str();
        if let Some((_, head)) = HEADS.iter().find(|(n, _)| *n == name) {
            return Ok(*head);
        }
        match self.lookup(name) {
            Some(named) => match named.symbol {
                Symbol::Struct(id) => Ok(Head::Struct(id)),
                Symbol::Poison => Err(Reported::earlier(&self.diags)),
                _ => Err(self.wrong_kind(ident, named, "a type")),
            },
            None => {
                let structs = self
                    .names
                    .iter()
                    .filter(|(_, n)| matches!(n.symbol, Symbol::Struct(_)))
                    .map(|(n, _)| &**n);
                let near = self.suggest(name, HEADS.iter().map(|(n, _)| *n).chain(structs));
                let d = Diagnostic::error(codes::UNKNOWN_TYPE, format!("unknown type `{name}`"))
                    .at(ident.span, "not defined");
                let d = if near.is_none() && name.ends_with("Descriptor") {
                    d.help(format!("declare it: `struct {name} {{ uint32_t …; }};`"))
                } else {
                    with_suggestion(d, near)
                };
                Err(self.fail(d))
            }
        }
    }

    /// The type of a scalar variable, parameter or result.
    pub(crate) fn scalar_type(&mut self, ty: &ast::Type) -> Res<ScalarTy> {
        let head = self.head(ty)?;
        match head {
            Head::Scalar(scalar) if ty.indirection != Indirection::Pointer => Ok(scalar),
            Head::Scalar(_) => Err(self.not_allowed(
                ty.span,
                "a pointer is not a number",
                "arrays are `const uint32_t*`, numbers `uint32_t`",
            )),
            Head::Element(dtype) => {
                let (message, to) = match dtype.is_float() {
                    true => (
                        "variables have no types of 8 or 16 bits",
                        "use `float`; tiles and tensors may hold `half`, `bfloat16_t` and `float8_e4m3_t`",
                    ),
                    false if dtype.bounds().is_some_and(|(low, _)| low < 0) => {
                        ("variables have 32 or 64 bits", "use `int32_t`")
                    }
                    false => ("variables have 32 or 64 bits", "use `uint32_t`"),
                };
                Err(self.not_allowed(ty.span, message, to))
            }
            _ => Err(self.not_allowed(
                ty.span,
                "the type of a number is needed",
                "for instance `uint32_t` or `float`",
            )),
        }
    }

    /// The element type of a tile or tensor.
    pub(crate) fn element_type(&mut self, b: &mut Body, ty: &ast::Type) -> Res<Elem> {
        if ty.indirection != Indirection::None {
            return Err(self.not_allowed(
                ty.span,
                "elements are numbers, not pointers",
                "remove the `*` or `&`",
            ));
        }
        if let TypeBase::DtypeOf(of) = &ty.base {
            let id = self.tensor(b, of)?;
            return Ok(match self.module.tensors[id.index()].elem {
                Elem::Fixed(dtype) => Elem::Fixed(dtype),
                Elem::Of(id) => Elem::Of(id),
            });
        }
        match self.head(ty)? {
            Head::Element(dtype) => Ok(Elem::Fixed(dtype)),
            Head::Scalar(scalar) => Ok(Elem::Fixed(dtype_of(scalar))),
            _ => Err(self.not_allowed(
                ty.span,
                "not a type of elements",
                "use `float`, `half` or `bfloat16_t`",
            )),
        }
    }

    /// `VecTile<T, rows, cols>` and its like.
    pub(crate) fn tile_type(&mut self, b: &mut Body, role: TileRole, ty: &ast::Type) -> Res<TileTy> {
        let [elem, rows, cols] = &ty.args[..] else {
            let message = format!("`{}` has {}", role_name(role), counted(ty.args.len(), "argument"));
            return Err(self.fail(
                Diagnostic::error(codes::BAD_TILE_TYPE, message)
                    .at(ty.span, "an element type, rows and columns are needed")
                    .help(format!("for instance `{}<float, 16, 64>`", role_name(role))),
            ));
        };
        let elem = match elem {
            TemplateArg::Type(t) => self.element_type(b, t)?,
            TemplateArg::Expr(e) => {
                let near =
                    e.as_name().and_then(|name| self.suggest(name.as_str(), TILE_ELEMENTS.into_iter()));
                let d = Diagnostic::error(
                    codes::BAD_TILE_TYPE,
                    "the first argument of a tile type is its element type",
                )
                .at(e.span, "not a type");
                let use_one = "use `float`, `double`, `half`, `bfloat16_t`, an integer such as `int32_t`, `bool` or `PTO_DTYPE(tensor)`";
                return Err(self.fail(match near {
                    Some(_) => with_suggestion(d, near),
                    None => d.help(use_one),
                }));
            }
        };
        let rows = self.tile_extent(b, rows)?;
        let cols = self.tile_extent(b, cols)?;
        self.check_tile_size(elem, &rows, &cols, ty.span)?;
        Ok(TileTy { role, elem, rows, cols })
    }

    fn tile_extent(&mut self, b: &mut Body, arg: &TemplateArg) -> Res<Expr> {
        match arg {
            TemplateArg::Expr(e) => self.launch_value(b, e, ScalarTy::U32, "the size of a tile"),
            TemplateArg::Type(t) => Err(self.fail(
                Diagnostic::error(codes::BAD_TILE_TYPE, "the size of a tile is a number")
                    .at(t.span, "this is a type"),
            )),
        }
    }

    fn check_tile_size(&mut self, elem: Elem, rows: &Expr, cols: &Expr, span: Span) -> Res<()> {
        for extent in [rows, cols] {
            if extent.as_const_int() == Some(0) {
                let d =
                    Diagnostic::error(codes::BAD_TILE_TYPE, "a tile of size 0").at(extent.span, "this is 0");
                return Err(self.fail(d));
            }
        }
        // While a kernel runs, `double` and integers take 64 bits each, and other real numbers 32.
        let bytes = match elem {
            Elem::Fixed(wsp_core::DType::F64) => 8,
            _ if elem.is_integer() => 8,
            _ => 4,
        };
        match (rows.as_const_int(), cols.as_const_int()) {
            (Some(r), Some(c)) if r * c * bytes > i128::from(limits::MAX_TILE_BYTES) => Err(self.fail(
                Diagnostic::error(codes::BAD_TILE_TYPE, "the tile is too large")
                    .at(
                        span,
                        format!(
                            "{r} × {c}, at least {}",
                            counted(r * c * bytes, "byte"),
                            c = counted(c, "element")
                        ),
                    )
                    .note(format!("a tile may have {}", counted(limits::MAX_TILE_BYTES, "byte"))),
            )),
            _ => Ok(()),
        }
    }

    /// Reports a type that cannot stand where it does.
    pub(crate) fn not_allowed(&mut self, span: Span, message: &str, help: &str) -> Reported {
        self.fail(Diagnostic::error(codes::TYPE_NOT_ALLOWED, message).at(span, "not allowed here").help(help))
    }
}
