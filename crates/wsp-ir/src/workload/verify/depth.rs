//! How deep statements and expressions nest. Every other check recurses and so relies on this one.

use super::{Checker, error, rule};
use crate::workload::{AxisKind, Block, IntExpr, IntExprKind, Node, NodeKind, ParamSource};
use wsp_core::limits::MAX_NESTING;
use wsp_diag::Span;

/// A statement that is one level too deep, or an expression that is too high.
struct TooDeep {
    span: Span,
    what: &'static str,
    help: &'static str,
}

type Depth = Result<(), TooDeep>;

impl Checker<'_> {
    /// Whether nothing nests too deeply.
    pub(super) fn depth(&mut self) -> bool {
        let Err(TooDeep { span, what, help }) = self.measure() else { return true };
        self.push(
            error(rule::TOO_DEEP, span, "nested too deeply")
                .note(format!("{what} nest at most {MAX_NESTING} deep"))
                .help(help),
        );
        false
    }

    fn measure(&self) -> Depth {
        let module = self.module;
        for param in &module.params {
            match &param.source {
                ParamSource::Set(value) => exprs(value)?,
                ParamSource::Derived(value) => expr(value)?,
            }
        }
        for table in &module.tables {
            exprs(&table.len)?;
        }
        for axis in &module.axes {
            if let AxisKind::Dense { start, end } = &axis.kind {
                exprs([start, end])?;
            }
        }
        for tensor in &module.tensors {
            exprs(&tensor.dims)?;
        }
        exprs(module.slots.iter().map(|slot| &slot.init))?;
        exprs(module.kernels.iter().filter_map(|kernel| kernel.cost.as_ref()))?;
        let mut heights = Vec::new();
        for workload in &module.workloads {
            exprs(workload.channels.iter().map(|channel| &channel.depth))?;
            let height = block(&workload.body, 1, &heights)?;
            heights.push(height);
        }
        let directives = module.schedules.iter().flat_map(|schedule| &schedule.directives);
        directives.into_iter().try_for_each(|directive| exprs(directive.kind.interface().exprs()))
    }
}

fn exprs<'e>(all: impl IntoIterator<Item = &'e IntExpr>) -> Depth {
    all.into_iter().try_for_each(expr)
}

fn expr(tree: &IntExpr) -> Depth {
    if fits(tree, 1) {
        return Ok(());
    }
    let help = "balance it with parentheses, or take a part of it from a table or a slot";
    // What is too deep inside may be a name, whose place is that of its declaration.
    Err(TooDeep { span: tree.span, what: "levels of an expression, names and numbers among them,", help })
}

/// Whether an expression that is at `level` of its tree is not too high.
fn fits(tree: &IntExpr, level: u32) -> bool {
    let inside = |operand: &IntExpr| fits(operand, level + 1);
    level <= MAX_NESTING
        && match &tree.kind {
            IntExprKind::Table(_, operand) | IntExprKind::Unary(_, operand) => inside(operand),
            IntExprKind::Binary(_, a, b) => inside(a) && inside(b),
            IntExprKind::Chain(first, rest) => {
                inside(first) && rest.iter().all(|(_, operand)| inside(operand))
            }
            IntExprKind::Choose(condition, then, otherwise) => {
                inside(condition) && inside(then) && inside(otherwise)
            }
            _ => true,
        }
}

/// How many levels a block has that is at `level`; `heights` are those of earlier workloads.
fn block(nodes: &Block, level: u32, heights: &[u32]) -> Result<u32, TooDeep> {
    let mut height = 0;
    for entry in nodes {
        if level > MAX_NESTING {
            let help = "put what stands in several loops into one, over the product of their ranges";
            return Err(TooDeep { span: entry.span, what: "statements", help });
        }
        height = height.max(1 + node(entry, level + 1, heights)?);
    }
    Ok(height)
}

fn node(node: &Node, level: u32, heights: &[u32]) -> Result<u32, TooDeep> {
    exprs(node.kind.exprs())?;
    if let NodeKind::Call { workload, .. } = &node.kind {
        let height = heights.get(workload.index()).copied().unwrap_or(0);
        if level - 1 + height > MAX_NESTING {
            let help = "call it from a place that is less deep";
            let what = "statements, with those of called workloads,";
            return Err(TooDeep { span: node.span, what, help });
        }
        return Ok(height);
    }
    let mut height = 0;
    for body in node.kind.bodies() {
        height = height.max(block(body, level, heights)?);
    }
    Ok(height)
}
