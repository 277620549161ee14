//! Typed scalar expressions of kernels.

use super::{exprs, local, scalar_type, tile_number_type, view};
use crate::decode::expr::{BINARY, chain, operator};
use crate::decode::place::At;
use crate::wire::{Decoded, Fault, Fields, Json, codes, unknown_word};
use wsp_core::LocalId;
use wsp_ir::{ArrayRef, Const, Expr, ExprKind, MathFn, ScalarTy, UnOp};

const MATH: &[(&str, MathFn)] = &[
    ("exp", MathFn::Exp),
    ("exp2", MathFn::Exp2),
    ("log", MathFn::Log),
    ("log2", MathFn::Log2),
    ("sqrt", MathFn::Sqrt),
    ("abs", MathFn::Abs),
    ("sin", MathFn::Sin),
    ("cos", MathFn::Cos),
];

/// The other forms.
pub(in crate::decode) const FORMS: &[&str] = &[
    "int",
    "float",
    "bool",
    "local",
    "field",
    "neg",
    "not",
    "cast",
    "select",
    "chain",
    "math",
    "load",
    "array_len",
    "load_scalar",
    "tile_max",
    "tile_sum",
    "tile_rows",
    "tile_cols",
];

/// The descriptor of a kernel.
const DESCRIPTOR: LocalId = LocalId(0);

impl At<'_> {
    /// A typed scalar expression.
    pub(in crate::decode) fn scalar(self, json: &Json<'_>) -> Decoded<Expr> {
        self.form(json, |fields, at| {
            let word = fields.kind()?;
            let (kind, ty) = match operator(BINARY, word) {
                Some(operator) => {
                    let (a, b) = (at.operand(fields, "a")?, at.operand(fields, "b")?);
                    (ExprKind::Binary(operator, a, b), scalar_type(fields)?)
                }
                None => at.other(word, fields)?,
            };
            Ok(Expr { kind, ty, span: at.span })
        })
    }

    fn operand(self, fields: &mut Fields<'_>, name: &'static str) -> Decoded<Box<Expr>> {
        fields.required(name, |json| self.scalar(json).map(Box::new))
    }

    /// Forms that name their type, or have the only one possible.
    fn other(self, word: &str, fields: &mut Fields<'_>) -> Decoded<(ExprKind, ScalarTy)> {
        let kind = match word {
            "int" => {
                let number = |json: &Json<'_>| json.integer().ok_or_else(|| json.expected("a whole number"));
                ExprKind::Const(Const::Int(fields.required("v", number)?))
            }
            "float" => {
                let ty = scalar_type(fields)?;
                let value = fields.required("v", |json| float(json, ty))?;
                return Ok((ExprKind::Const(Const::Float(value)), ty));
            }
            "local" => ExprKind::Local(fields.required("id", local)?),
            "neg" => ExprKind::Unary(UnOp::Neg, self.operand(fields, "a")?),
            "not" => ExprKind::Unary(UnOp::Not, self.operand(fields, "a")?),
            "cast" => ExprKind::Cast(self.operand(fields, "a")?),
            "select" => {
                let condition = self.operand(fields, "c")?;
                ExprKind::Select(condition, self.operand(fields, "a")?, self.operand(fields, "b")?)
            }
            "chain" => {
                let (first, rest) = chain(fields, |json| self.scalar(json))?;
                ExprKind::Chain(first, rest)
            }
            "math" => ExprKind::Math(fields.word("f", MATH)?, self.operand(fields, "a")?),
            "load" => {
                let array = ArrayRef::Tensor(fields.required("tensor", view)?);
                ExprKind::Load(array, self.operand(fields, "index")?)
            }
            _ => return self.of_one_type(word, fields),
        };
        Ok((kind, scalar_type(fields)?))
    }

    /// Forms of which there is one type only.
    fn of_one_type(self, word: &str, fields: &mut Fields<'_>) -> Decoded<(ExprKind, ScalarTy)> {
        Ok(match word {
            "bool" => (ExprKind::Const(Const::Bool(fields.required("v", Json::boolean)?)), ScalarTy::Bool),
            "field" => (ExprKind::Field(DESCRIPTOR, fields.required("id", Json::number)?), ScalarTy::U32),
            "array_len" => {
                (ExprKind::ArrayLen(ArrayRef::Tensor(fields.required("tensor", view)?)), ScalarTy::U32)
            }
            "load_scalar" => {
                let tensor = fields.required("tensor", view)?;
                let index = fields.required("index", |json| exprs(self, json))?;
                (ExprKind::LoadScalar(tensor, index), ScalarTy::F32)
            }
            "tile_max" => (ExprKind::TileMax(fields.required("tile", local)?), tile_number_type(fields)?),
            "tile_sum" => (ExprKind::TileSum(fields.required("tile", local)?), tile_number_type(fields)?),
            "tile_rows" => (ExprKind::TileRows(fields.required("tile", local)?), ScalarTy::U32),
            "tile_cols" => (ExprKind::TileCols(fields.required("tile", local)?), ScalarTy::U32),
            other => {
                let operators = BINARY.iter().map(|(word, _)| *word);
                return Err(unknown_word(other, FORMS.iter().copied().chain(operators)).in_field("k"));
            }
        })
    }
}

/// A value of a float type: a number, or `inf`, `-inf`, `nan`. A `float` has the nearest value that it holds.
fn float(json: &Json<'_>, ty: ScalarTy) -> Decoded<f64> {
    let value = match json {
        Json::Text(text) => match &**text {
            "inf" => return Ok(f64::INFINITY),
            "-inf" => return Ok(f64::NEG_INFINITY),
            "nan" => return Ok(f64::NAN),
            other => return Err(unknown_word(other, ["inf", "-inf", "nan"].into_iter())),
        },
        Json::Int(value) => *value as f64,
        Json::Large(value) => *value as f64,
        Json::Float(value) => *value,
        _ => return Err(json.expected("a number, or the text `inf`, `-inf` or `nan`")),
    };
    if ty != ScalarTy::F32 {
        return Ok(value);
    }
    let rounded = f64::from(value as f32);
    if rounded.is_infinite() {
        let message = format!("{} is past the largest value of `f32`", json.describe());
        return Err(Fault::new(codes::WRONG_VALUE, message)
            .help(Some("infinity is written as the text `inf` or `-inf`".to_owned())));
    }
    Ok(rounded)
}
