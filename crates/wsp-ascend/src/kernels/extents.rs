//! Valid rows and columns that are 0 or below at emission. Those that a launch decides are compared with 0 by the kernel.

use super::codes;
use super::values::Values;
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ir::{Block, Dim, Expr, ExprKind, Function, StmtKind, TileExtent, TileOp, Verified, walk};

/// What becomes of a statement without rows or columns.
const NOTHING_LEFT: &str =
    "no instruction is emitted for it, as units of real machines do not end with 0 rows or columns";

/// Statements whose rows or columns are known to be 0, or below 0 where a condition may keep them from running, a warning each; others below 0,
/// an error each. `values` knows nothing of descriptors, as the text of a kernel does not depend on them.
pub(super) fn check(module: &Verified, kernel: &Function, values: &Values<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    block(module, &kernel.body, values, false, &mut found);
    found
}

fn block(
    module: &Verified,
    body: &Block,
    values: &Values<'_>,
    conditional: bool,
    found: &mut Vec<Diagnostic>,
) {
    for stmt in body {
        if let StmtKind::Tile(op) = &stmt.kind {
            for (what, count) in counts(op) {
                if let Some(n) = values.expr(count).constant().filter(|n| *n <= 0) {
                    let mut fault = told(op, n, what, place_of(count, stmt.span));
                    if conditional {
                        fault.severity = Severity::Warning;
                    }
                    found.push(fault);
                }
            }
            let outside = outside(module, op, values, stmt.span).map(|mut fault| {
                if conditional {
                    fault.severity = Severity::Warning;
                }
                fault
            });
            found.extend(outside);
        }
        // A loop may have no round.
        let conditional = conditional
            || matches!(stmt.kind, StmtKind::If { .. } | StmtKind::While { .. } | StmtKind::For { .. });
        walk::blocks(stmt).for_each(|inner| block(module, inner, values, conditional, found));
    }
}

/// The numbers of rows and of columns that an operation is given.
fn counts(op: &TileOp) -> Vec<(&'static str, &Expr)> {
    let given = match op {
        TileOp::Store { rows, cols, .. } => [rows.as_ref(), cols.as_ref()],
        _ => op.gives().map_or([None, None], |(rows, cols)| {
            [rows, cols].map(|extent| match extent {
                TileExtent::AtMost(count) | TileExtent::Exactly(count) => count,
                _ => None,
            })
        }),
    };
    ["rows", "columns"].into_iter().zip(given).filter_map(|(what, count)| Some((what, count?))).collect()
}

/// A constant has the place of the parameter that it comes from, which may be another line.
fn place_of(count: &Expr, statement: Span) -> Span {
    if matches!(count.kind, ExprKind::Const(_)) { statement } else { count.span }
}

fn told(op: &TileOp, n: i128, what: &str, span: Span) -> Diagnostic {
    let word = op.word();
    if n < 0 {
        return Diagnostic::error(codes::EXTENT, format!("`{word}` is given {n} {what} whenever it runs"))
            .at(span, "below 0")
            .note("the number has no sign: a run on `cpu_sim` stops here, and a kernel would take it for 0")
            .help(format!("give it 1 to as many {what} as the tile has; compare before subtracting"));
    }
    Diagnostic::new(codes::EXTENT, Severity::Warning, format!("`{word}` is given 0 {what} whenever it runs"))
        .at(span, "nothing is left of it")
        .note(NOTHING_LEFT)
        .help(format!("leave it out, or give it 1 to as many {what} as the tile has"))
}

/// A load or a store at a place that the tensor does not have: an error, but for a load from behind the end, of which nothing is left.
fn outside(module: &Verified, op: &TileOp, values: &Values<'_>, span: Span) -> Option<Diagnostic> {
    let (tensor, at, word, loads) = match op {
        TileOp::Load { tensor, at, .. } => (tensor, at, "load", true),
        TileOp::Store { tensor, at, .. } => (tensor, at, "store", false),
        _ => return None,
    };
    let tensor = &module.tensors[tensor.index()];
    let first = tensor.rank() - tensor.dims.len();
    let dims = [("row", at.row_dim), ("column", at.col_dim)];
    dims.into_iter().find_map(|(what, dim)| {
        let dim = usize::from(dim?);
        let from = values.expr(at.index.get(dim)?).constant()?;
        if from < 0 {
            let message = format!("a {word} begins at {what} {from} of `{}` whenever it runs", tensor.name);
            let fault = Diagnostic::error(codes::EXTENT, message).at(span, "below 0");
            return Some(fault.help(format!("begin at {what} 0 or behind it; compare before subtracting")));
        }
        let Dim::Expr(size) = tensor.dims.get(dim.checked_sub(first)?)? else { return None };
        let size = values.expr(size).constant()?;
        (from >= size && size > 0).then(|| {
            let message = format!("a {word} begins at {what} {from} of `{}`, which has {size}", tensor.name);
            let help = format!("begin at {what} {} or before", size - 1);
            if !loads {
                return Diagnostic::error(codes::EXTENT, message).at(span, "behind the end").help(help);
            }
            Diagnostic::new(codes::EXTENT, Severity::Warning, message)
                .at(span, "0 elements are left")
                .note(NOTHING_LEFT)
                .help(help)
        })
    })
}
