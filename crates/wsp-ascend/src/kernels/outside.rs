//! Stores and insertions whose end, by what is known at emission, lies outside of their tensor or tile whenever they run.

use super::codes;
use super::values::Values;
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ir::{Dim, Function, Place, Stmt, StmtKind, TileOp, Verified, walk};
use wsp_ordered::OrderedSet;
use wsp_tile::{Instruction, Op, Tile, TileProgram};

/// An error for each of them, a warning where the text has it under a condition or in a loop, which may have no round. Those that *begin* outside
/// are those of [`super::extents`].
pub(super) fn check(
    program: &TileProgram,
    (module, kernel): (&Verified, &Function),
    values: &Values<'_>,
) -> Vec<Diagnostic> {
    let mut conditional = OrderedSet::new();
    walk::stmts(&kernel.body, &mut |stmt| {
        if matches!(stmt.kind, StmtKind::If { .. } | StmtKind::While { .. } | StmtKind::For { .. }) {
            let inside = &mut |inner: &Stmt| {
                conditional.insert(inner.span);
            };
            walk::blocks(stmt).for_each(|block| walk::stmts(block, inside));
        }
    });
    let (mut found, check) = (Vec::new(), Check { program, module, values });
    program.instructions(&mut |instruction| {
        let Some(mut fault) = check.instruction(instruction) else { return };
        if conditional.contains(&instruction.span) {
            fault.severity = Severity::Warning;
        }
        // One statement may be several instructions.
        if !found.contains(&fault) {
            found.push(fault);
        }
    });
    found
}

struct Check<'a> {
    program: &'a TileProgram,
    module: &'a Verified,
    values: &'a Values<'a>,
}

impl Check<'_> {
    fn instruction(&self, instruction: &Instruction) -> Option<Diagnostic> {
        let Op::Tile(op) = &instruction.op else { return None };
        match op {
            TileOp::Store { tensor, at, src, .. } => {
                self.store((self.module.tensors.get(tensor.index())?, at), src, instruction.span)
            }
            TileOp::Insert { dst, src, row, col } => {
                let dims = [("row", row, src.rows, dst.rows), ("column", col, src.cols, dst.cols)];
                dims.into_iter().find_map(|(what, from, count, size)| {
                    let (from, size) = (self.values.expr(from).constant()?, i128::from(size.high()));
                    let name = &self.program.buffer(dst.buffer).name;
                    told(
                        ["insertion", what, name],
                        [from, i128::from(count.low()).max(1), size],
                        instruction.span,
                    )
                })
            }
            _ => None,
        }
    }

    fn store(&self, (tensor, at): (&wsp_ir::Tensor, &Place), src: &Tile, span: Span) -> Option<Diagnostic> {
        let first = tensor.rank() - tensor.dims.len();
        let dims = [("row", at.row_dim, src.rows), ("column", at.col_dim, src.cols)];
        dims.into_iter().find_map(|(what, dim, count)| {
            let dim = usize::from(dim?);
            let from = self.values.expr(at.index.get(dim)?).constant()?;
            let Dim::Expr(size) = tensor.dims.get(dim.checked_sub(first)?)? else { return None };
            let size = self.values.expr(size).constant().filter(|size| (0..*size).contains(&from))?;
            told(["store", what, &tensor.name], [from, count.low().into(), size], span)
        })
    }
}

/// A finding where `count` rows or columns, the fewest that there may be, from `from` on are more than `size`.
fn told([word, what, name]: [&str; 3], [from, count, size]: [i128; 3], span: Span) -> Option<Diagnostic> {
    let end = from + count;
    (end > size).then(|| {
        let message = format!(
            "{what}s {from} to {} of `{name}` are written whenever this runs: it has {size}",
            end - 1
        );
        let mut help = format!("give the {word} at most {} {what}s", size - from);
        if count <= size {
            help += &format!(", or begin at {what} {}", size - count);
        }
        Diagnostic::error(codes::EXTENT, message)
            .at(span, format!("{count} {what}s from {what} {from} on"))
            .note(match word {
                "store" => "a run on `cpu_sim` stops here, and a core writes what lies behind",
                _ => "a run on `cpu_sim` stops here, and a core leaves out what lies behind",
            })
            .help(help)
    })
}
