//! Sizes that follow from shapes, and shapes that do not fit.

use super::Binder;
use crate::arrays::PyArray;
use crate::signature::{TensorFact, value};
use wsp_core::int::BinOp;
use wsp_diag::Diagnostic;
use wsp_ir::workload::IntExprKind;
use wsp_trace::python::arrays::{CONTRADICTION, WRONG_SHAPE};

/// Where a size comes from.
#[derive(Clone)]
pub(super) enum Origin {
    /// The caller names it.
    Given,
    /// It is the extent of an array along a dimension.
    Extent { array: String, dim: usize },
    /// It follows from the number of a table's elements.
    Elements { table: String },
}

impl Binder<'_> {
    pub(super) fn wrong_shape(&self, fact: &TensorFact, array: &PyArray) -> Diagnostic {
        let (want, have) = (fact.dims.len(), array.dims().len());
        let message = if have == want {
            format!("array `{}` has another shape than its tensor", fact.given)
        } else {
            let plural = if have == 1 { "" } else { "s" };
            format!("array `{}` has {have} dimension{plural}, and its tensor {want}", fact.given)
        };
        Diagnostic::error(WRONG_SHAPE, message).note(format!(
            "the array has the shape {:?}, the tensor is {}{}",
            array.dims(),
            fact.dtype,
            self.signature.extents(fact)
        ))
    }

    /// Takes sizes from the extents of arrays where these are a size and nothing else.
    pub(super) fn infer(&mut self) {
        for (fact, array) in self.signature.tensors.iter().zip(&self.arrays) {
            let Some(array) = array else { continue };
            for (dim, (extent, &have)) in fact.dims.iter().zip(array.dims()).enumerate() {
                let IntExprKind::Param(id) = extent.kind else { continue };
                let p = id.index();
                if self.signature.params[p].derived {
                    continue;
                }
                match self.sizes[p] {
                    None => {
                        self.sizes[p] = Some(have);
                        self.origins[p] = Origin::Extent { array: fact.given.clone(), dim };
                    }
                    Some(size) if size == have => {}
                    Some(size) => {
                        let name = &self.signature.params[p].given;
                        self.faults.push(contradiction(name, size, &self.origins[p], &fact.given, dim, have));
                    }
                }
            }
        }
    }

    /// Takes sizes that nothing else tells from the number of elements of tables, where that is a size, or one more than a size.
    pub(super) fn infer_from_tables(&mut self) {
        for (fact, table) in self.signature.tables.iter().zip(&self.module.tables) {
            let Some(given) = self.args.arrays.get(&fact.name) else { continue };
            let (id, less) = match table.len.as_ref().map(|len| &len.kind) {
                Some(IntExprKind::Param(id)) => (*id, 0),
                Some(IntExprKind::Binary(BinOp::Add, size, one)) => match (&size.kind, &one.kind) {
                    (IntExprKind::Param(id), IntExprKind::Const(one)) => (*id, *one),
                    _ => continue,
                },
                _ => continue,
            };
            let p = id.index();
            let elements = given.shape().first().and_then(|&n| i64::try_from(n).ok());
            let size = elements.map(|n| n - less).filter(|size| *size >= 0);
            if self.sizes[p].is_none() && !self.signature.params[p].derived && size.is_some() {
                self.sizes[p] = size;
                self.origins[p] = Origin::Elements { table: fact.given.clone() };
            }
        }
    }

    /// Compares all other extents with what sizes make of them, as far as that is known here.
    pub(super) fn check_shapes(&mut self) {
        for (fact, array) in self.signature.tensors.iter().zip(&self.arrays) {
            let Some(array) = array else { continue };
            let wrong = fact.dims.iter().zip(array.dims()).any(|(extent, &have)| {
                let settable = match extent.kind {
                    IntExprKind::Param(id) => !self.signature.params[id.index()].derived,
                    _ => false,
                };
                !settable && value(extent, self.module, &self.sizes).is_some_and(|want| want != have)
            });
            if !wrong {
                continue;
            }
            let want: Vec<String> = fact
                .dims
                .iter()
                .map(|d| value(d, self.module, &self.sizes).map_or("?".to_owned(), |n| n.to_string()))
                .collect();
            let fault =
                self.wrong_shape(fact, array).help(format!("give it the shape [{}]", want.join(", ")));
            self.faults.push(fault);
        }
    }
}

fn contradiction(name: &str, size: i64, origin: &Origin, array: &str, dim: usize, have: i64) -> Diagnostic {
    let from = match origin {
        Origin::Given => "as it is given".to_owned(),
        Origin::Extent { array, dim } => format!("along dimension {dim} of `{array}`"),
        Origin::Elements { table } => format!("by the elements of `{table}`"),
    };
    let message = format!("size `{name}` is {size} {from}, and {have} along dimension {dim} of `{array}`");
    Diagnostic::error(CONTRADICTION, message).help(match origin {
        Origin::Given => format!("leave `{name}` out, which follows from `{array}`, or give `{name}={have}`"),
        _ => format!("give arrays that agree on `{name}`"),
    })
}
