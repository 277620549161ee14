//! Values of scalars where a launch stands.

use super::code::GraphCode;
use super::instance::Instance;
use super::launched::Launched;
use super::memory::TensorRange;
use super::shared::Shared;
use super::tensors::released;
use std::cell::RefCell;
use std::ops::Range;
use wsp_core::tg::{Env, EvalFault, ExprOp, IterNo, Scalar, ScalarType, TensorNo, eval};
use wsp_diag::Diagnostic;

/// Where a launch stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values<'a> {
    pub(crate) code: &'a GraphCode,
    pub(crate) instance: &'a Instance,
    /// Values of declared scalars.
    pub(crate) scalars: &'a [i64],
    pub(crate) iteration: i64,
    pub(crate) device: u32,
    pub(crate) devices: u32,
    /// Of dynamic loops.
    pub(crate) iterations: &'a [u32],
}

impl Launched {
    /// Where it stands, with the rounds of its dynamic loops.
    pub(crate) fn values<'a>(&'a self, iterations: &'a [u32]) -> Values<'a> {
        Values {
            code: &self.code,
            instance: &self.instance,
            scalars: &self.scalars,
            iteration: self.iteration,
            device: self.instance.device(),
            devices: self.devices,
            iterations,
        }
    }
}

impl Values<'_> {
    /// The value of a scalar.
    ///
    /// # Errors
    /// It has none.
    pub(crate) fn value(&self, value: Scalar) -> Result<i64, EvalFault> {
        match value {
            Scalar::Const(value) => Ok(value),
            Scalar::Expr(_) => eval(self.code.plan.expr(value), self),
        }
    }

    /// What is loaded for the value of a scalar: tensors of the unit, and bytes.
    pub(crate) fn loaded(&self, value: Scalar) -> Vec<(u32, Range<u64>)> {
        let loads = Loads { values: self, loaded: RefCell::default() };
        if let Scalar::Expr(_) = value {
            // The evaluation of the condition itself says why there is no value.
            let _ = eval(self.code.plan.expr(value), &loads);
        }
        loads.loaded.into_inner()
    }

    /// Why an expression has no value.
    pub(crate) fn why_not(&self, fault: &EvalFault, shared: &Shared) -> String {
        shared.why_not(fault, |tensor| self.instance.range(self.code.local(tensor.0)).is_some())
    }

    /// What messages say of the place.
    pub(crate) fn facts(&self) -> Vec<String> {
        let mut facts = vec![format!("in graph `{}`, iteration {}", self.code.plan.name, self.iteration)];
        if self.devices > 1 {
            facts.push(format!("on device {} of {}", self.device, self.devices));
        }
        if !self.iterations.is_empty() {
            facts.push(format!("rounds of its loops: {:?}", self.iterations));
        }
        facts
    }

    /// The memory of a tensor of the unit.
    ///
    /// # Errors
    /// It was released.
    pub(crate) fn range(&self, unit: u32, shared: &Shared) -> Result<&TensorRange, Box<Diagnostic>> {
        self.instance.range(self.code.local(unit)).ok_or_else(|| released(&shared.table[unit as usize]))
    }
}

/// Values, with what was loaded for them.
struct Loads<'v> {
    values: &'v Values<'v>,
    loaded: RefCell<Vec<(u32, Range<u64>)>>,
}

impl Env for Loads<'_> {
    fn iter(&self, iter: IterNo) -> Result<i64, EvalFault> {
        self.values.iter(iter)
    }

    fn arg(&self, arg: u32) -> Result<i64, EvalFault> {
        self.values.arg(arg)
    }

    fn load(&self, tensor: TensorNo, ty: ScalarType, offset: i64) -> Result<i64, EvalFault> {
        let value = self.values.load(tensor, ty, offset)?;
        let first = offset as u64;
        self.loaded.borrow_mut().push((tensor.0, first..first + ty.size()));
        Ok(value)
    }

    fn iteration(&self) -> Result<i64, EvalFault> {
        self.values.iteration()
    }

    fn device(&self) -> Result<i64, EvalFault> {
        self.values.device()
    }

    fn devices(&self) -> Result<i64, EvalFault> {
        self.values.devices()
    }
}

impl Env for Values<'_> {
    fn iter(&self, iter: IterNo) -> Result<i64, EvalFault> {
        let round = self.iterations.get(iter.0 as usize);
        round.map(|&round| i64::from(round)).ok_or(EvalFault::Unknown(ExprOp::Iter(iter)))
    }

    fn arg(&self, arg: u32) -> Result<i64, EvalFault> {
        self.scalars.get(arg as usize).copied().ok_or(EvalFault::Unknown(ExprOp::Arg(arg)))
    }

    fn load(&self, tensor: TensorNo, ty: ScalarType, offset: i64) -> Result<i64, EvalFault> {
        let range = self.instance.range(self.code.local(tensor.0));
        range.ok_or(EvalFault::Load { tensor, offset, ty })?.scalar(tensor, offset, ty)
    }

    fn iteration(&self) -> Result<i64, EvalFault> {
        Ok(self.iteration)
    }

    fn device(&self) -> Result<i64, EvalFault> {
        Ok(i64::from(self.device))
    }

    fn devices(&self) -> Result<i64, EvalFault> {
        Ok(i64::from(self.devices))
    }
}
