//! Conditions, counts and other scalars.

use super::{Checker, Report as _, rule};
use crate::tg::Namespace;
use crate::tg::outline::{Affine, BlockId};
use wsp_core::tg::{
    ExprOp, IterNo, MAX_EXPR_OPS, MAX_EXPR_STACK, Scalar, ScalarType, Shape, ShapeFault, TensorNo,
};
use wsp_core::words::counted;

/// What a scalar may be made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Whatever is known when the instruction is reached, data of the device included.
    Data,
    /// What is known before the graph runs, and loop variables.
    Binding,
}

impl Checker<'_> {
    pub(super) fn condition(&mut self, condition: Scalar) {
        self.scalar(condition, self.block, Source::Data);
    }

    pub(super) fn count(&mut self, count: Scalar) {
        self.scalar(count, self.block, Source::Data);
        if let Some(count) = count.as_const().filter(|count| *count < 0) {
            self.fault(rule::COUNT, format!("a loop runs {count} times"), "")
                .help("give a count of at least 0")
                .report(self);
        }
    }

    pub(super) fn rounds(&mut self, condition: Scalar, most: u64) {
        self.condition(condition);
        if most == 0 {
            self.fault(rule::COUNT, "a loop may run 0 rounds at most", "").help(
                "leave `max_iterations` out, or give the number of rounds after which the condition should have become 0",
            )
            .report(self);
        }
    }

    /// Checks a scalar; its form if it is a sum of multiples of loop variables.
    #[inline]
    pub(super) fn scalar(&mut self, scalar: Scalar, block: BlockId, source: Source) -> Option<Affine> {
        match scalar {
            Scalar::Const(value) => Some(Affine::constant(value)),
            Scalar::Expr(expr) => self.expr(expr.0 as usize, block, source),
        }
    }

    fn expr(&mut self, first: usize, block: BlockId, source: Source) -> Option<Affine> {
        let module = self.module;
        let rest = module.exprs.get(first..).unwrap_or(&[]);
        let Some(length) = rest.iter().take(MAX_EXPR_OPS + 1).position(|op| *op == ExprOp::End) else {
            let what = if rest.len() > MAX_EXPR_OPS { "is too long" } else { "does not end" };
            return self
                .malformed(&format!("{what}: it has more than {} operations", rest.len().min(MAX_EXPR_OPS)));
        };
        let (mut shape, mut stack) = (Shape::default(), Vec::with_capacity(8));
        for &op in &rest[..length] {
            let top = if shape.is_guarded() { None } else { stack.last().and_then(Option::as_ref) };
            if !self.operand(op, block, source, top) {
                return None;
            }
            if let Err(fault) = shape.step(op) {
                return self.misshapen(fault);
            }
            Affine::step(op, &mut stack);
        }
        match shape.end() {
            Ok(()) => stack.pop().flatten(),
            Err(fault) => self.misshapen(fault),
        }
    }

    #[cold]
    fn misshapen(&mut self, fault: ShapeFault) -> Option<Affine> {
        match fault {
            ShapeFault::TooFew => self.malformed("takes a value that nothing before it gives"),
            ShapeFault::TooDeep => {
                self.malformed(&format!("needs more than {MAX_EXPR_STACK} values at a time"))
            }
            ShapeFault::Skip => self
                .malformed("has an `and` or `or` whose right side is not what the skip before it goes past"),
            ShapeFault::Values(values) => {
                self.malformed(&format!("gives {values} instead of 1", values = counted(values, "value")))
            }
        }
    }

    #[cold]
    fn malformed(&mut self, what: &str) -> Option<Affine> {
        self.fault(rule::MALFORMED, format!("an expression {what}"), "")
            .help("make it of fewer or simpler parts; an expression in a file was written by a tool that is at fault")
            .report(self);
        None
    }

    /// Checks one operation; `top` is the value before it, if it is known that the operation is evaluated. `false` stops the expression.
    fn operand(&mut self, op: ExprOp, block: BlockId, source: Source, top: Option<&Affine>) -> bool {
        match op {
            ExprOp::Iter(iter) => self.variable(iter, block),
            ExprOp::Arg(arg) if arg as usize >= self.module.args.len() => {
                let have = self.module.args.len();
                self.fault(rule::MALFORMED, format!("declared scalar {arg} does not exist"), "")
                    .note(format!("the unit declares {have}"))
                    .help("declare it with `arg` or `host`")
                    .report(self);
                false
            }
            ExprOp::Iteration if self.graph.is_none() => {
                self.fault(rule::EXPRESSION, "`iteration` on the host", "only graphs are given an iteration")
                    .help("use the variable of the loop around it")
                    .report(self);
                false
            }
            ExprOp::Load(tensor, ty) => self.load(tensor, ty, block, source, top),
            _ => true,
        }
    }

    fn variable(&mut self, iter: IterNo, block: BlockId) -> bool {
        if self.outline.loop_of(self.module, block, iter).is_some() {
            return true;
        }
        let name = self.module.name(Namespace::Iter, wsp_core::tg::GraphNo(0), iter.0);
        let what = if block == self.block { "this" } else { "the kernel" };
        self.fault(
            rule::ITERATOR,
            format!("loop variable `{name}` has no value"),
            &format!("no loop around {what} counts with it"),
        )
        .help("use it inside of its loop; in a graph, `iteration` is the number that TG_INVOKE gives")
        .report(self);
        false
    }

    fn load(
        &mut self,
        tensor: TensorNo,
        ty: ScalarType,
        block: BlockId,
        source: Source,
        offset: Option<&Affine>,
    ) -> bool {
        if source == Source::Binding {
            let name = self.tensor_name(tensor);
            self.fault(
                rule::EXPRESSION,
                format!("`load({name})` in an operand that is known before the graph runs"),
                "data of the device cannot be used here",
            )
            .help("use declared scalars, loop variables, `iteration` or `device`; let kernels read what depends on data")
            .report(self);
            return false;
        }
        let Some(def) = self.visible_tensor(tensor) else { return false };
        self.used(&def, self.at, block);
        let Some(offset) = offset else { return true };
        let size = i128::from(ty.size());
        let Some(range) = self.outline.extremes(self.module, block, offset) else { return true };
        let over = def.bytes.is_some_and(|bytes| range.high.saturating_add(size) > i128::from(bytes));
        if (range.low < 0 || over) && self.outline.takes_all(self.module, block, offset) {
            let name = self.tensor_name(tensor);
            let (first, last) = if range.low < 0 { (range.low, range.low) } else { (range.high, range.high) };
            self.fault(
                rule::BOUNDS,
                format!("a condition reads outside of tensor `{name}`"),
                &format!("bytes {first} to {}", last.saturating_add(size)),
            )
            .note(bytes_of(def.bytes, &name))
            .help("read at a smaller offset, or make the tensor larger")
            .report(self);
        }
        true
    }
}

/// How large a tensor is, for a message.
pub(super) fn bytes_of(bytes: Option<u64>, name: &str) -> String {
    match bytes {
        Some(bytes) => format!("`{name}` has {bytes}", bytes = counted(bytes, "byte")),
        None => format!("the bytes of `{name}` are not known; they begin with 0"),
    }
}
