//! Extents of what is bound to an entry: from residents' shapes, and from bytes.

use super::super::memory::TensorRange;
use super::{text, unknown};
use wsp_core::words::counted;
use wsp_core::{DType, ParamId, TensorId};
use wsp_ir::{Dim, Expr, ExprKind, Module, ParamSource, ScalarTy, Tensor};
use wsp_kernel::{Value, eval_launch_expr};
use wsp_ordered::OrderedSet;

/// Memory for a tensor of an entry.
pub(super) struct Given<'a> {
    pub(super) tensor: TensorId,
    pub(super) dtype: DType,
    pub(super) bytes: u64,
    /// The memory itself; none where only its size is known.
    pub(super) range: Option<&'a TensorRange>,
    /// Its extents, where whoever gives it says them.
    pub(super) shape: Option<&'a [u64]>,
    /// There may be bytes that make no whole row.
    pub(super) larger: bool,
}

/// Values of parameters, as far as they are known.
pub(super) struct Extents<'m> {
    module: &'m Module,
    values: Vec<Option<Value>>,
}

impl<'m> Extents<'m> {
    pub(super) fn new(module: &'m Module, known: &[Option<Value>]) -> Extents<'m> {
        Extents { module, values: known.to_vec() }
    }

    /// Finds the extents that bytes and shapes tell, and checks all that are known against them.
    pub(super) fn solve(&mut self, given: &[Given<'_>]) -> Result<(), String> {
        match self.take(given)? {
            Some(left) => Err(self.stuck(left)),
            None => self.check_requirements(),
        }
    }

    /// The same where there is more than what is given: extents that do not follow may follow from that.
    pub(super) fn solve_in_part(&mut self, given: &[Given<'_>]) -> Result<(), String> {
        self.take(given)?;
        self.check_requirements()
    }

    /// Takes the extents that bytes and shapes tell; what is left if some do not follow.
    fn take<'g>(&mut self, given: &'g [Given<'g>]) -> Result<Option<&'g Given<'g>>, String> {
        let mut open: Vec<&Given<'_>> = given.iter().collect();
        while !open.is_empty() {
            let before = open.len();
            let mut left = Vec::new();
            for one in open {
                let done = match one.shape {
                    Some(shape) => self.take_shape(one, shape)?,
                    None => self.take_bytes(one)?,
                };
                if done {
                    self.derive()?;
                } else {
                    left.push(one);
                }
            }
            if left.len() == before {
                return Ok(left.first().copied());
            }
            open = left;
        }
        Ok(None)
    }

    /// Takes the extents of a resident tensor; always done.
    fn take_shape(&mut self, one: &Given<'_>, shape: &[u64]) -> Result<bool, String> {
        let tensor = self.tensor(one.tensor);
        let name = &tensor.name;
        if shape.len() != tensor.dims.len() {
            let (have, need) = (shape.len(), tensor.dims.len());
            return Err(format!(
                "`{name}` has {have}, and the kernel takes {need}",
                have = counted(have, "dimension")
            ));
        }
        for (d, (dim, &extent)) in tensor.dims.iter().zip(shape).enumerate() {
            let Dim::Expr(e) = dim else { continue };
            match self.lone_unknown(e) {
                Some(id) => self.set(id, extent, name)?,
                None if unknown(e, &self.values).is_some() => return Ok(false),
                None => {
                    let want = self.extent(e)?;
                    if u64::from(want) != extent {
                        return Err(format!(
                            "dimension {d} of `{name}` has {extent}, and the kernel takes {want}",
                            extent = counted(extent, "element")
                        ));
                    }
                }
            }
        }
        Ok(true)
    }

    /// Takes the extent that the bytes of an argument tell, if no more than one is not known.
    fn take_bytes(&mut self, one: &Given<'_>) -> Result<bool, String> {
        let tensor = self.tensor(one.tensor);
        let mut row = one.dtype.size() as u64;
        let mut open = None;
        for dim in &tensor.dims {
            let Dim::Expr(e) = dim else { continue };
            match self.lone_unknown(e) {
                Some(id) if open.is_none() => open = Some(id),
                Some(_) => return Ok(false),
                None if unknown(e, &self.values).is_some() => return Ok(false),
                None => {
                    let extent = u64::from(self.extent(e)?);
                    row = row.checked_mul(extent).ok_or_else(|| format!("`{}` is too large", tensor.name))?;
                }
            }
        }
        let bytes = one.bytes;
        let Some(id) = open else {
            self.check_bytes(one, tensor, row)?;
            return Ok(true);
        };
        if row == 0 || (!bytes.is_multiple_of(row) && !one.larger) || bytes < row {
            let extent = &self.module.params[id.index()].name;
            return Err(format!(
                "`{}` is bound to {bytes}, which is no multiple of the {row} for each of `{extent}`",
                tensor.name,
                bytes = counted(bytes, "byte"),
                row = counted(row, "byte")
            ));
        }
        self.set(id, bytes / row, &tensor.name)?;
        Ok(true)
    }

    /// A tensor all of whose extents are known has the bytes bound to it; more only where no extent comes from memory.
    fn check_bytes(&self, one: &Given<'_>, tensor: &Tensor, need: u64) -> Result<(), String> {
        let from_memory = |dim: &Dim| match dim {
            Dim::Expr(e) => e.any(&mut |e| match e.kind {
                ExprKind::Param(id) => {
                    matches!(self.module.params[id.index()].source, ParamSource::Shape { .. })
                }
                _ => false,
            }),
            Dim::Dynamic | Dim::Axis(_) => false,
        };
        let bytes = one.bytes;
        let exact = !one.larger && tensor.dims.iter().any(from_memory);
        if bytes >= need && !(exact && bytes > need) {
            return Ok(());
        }
        let dims = self.dims(one.tensor)?;
        Err(format!(
            "`{}` is bound to {bytes}, and {dims:?} elements of `{}` take {need}",
            tensor.name,
            one.dtype,
            bytes = counted(bytes, "byte")
        ))
    }

    /// The extent that stands for itself in a shape and has no value yet.
    fn lone_unknown(&self, e: &Expr) -> Option<ParamId> {
        match e.kind {
            ExprKind::Param(id) if self.values[id.index()].is_none() => {
                let named = matches!(self.module.params[id.index()].source, ParamSource::Shape { .. });
                named.then_some(id)
            }
            _ => None,
        }
    }

    fn set(&mut self, id: ParamId, extent: u64, tensor: &str) -> Result<(), String> {
        let value = u32::try_from(extent).map_err(|_| {
            let name = &self.module.params[id.index()].name;
            format!("`{name}` of `{tensor}` is {extent}, and an extent is at most {}", u32::MAX)
        })?;
        self.values[id.index()] = Some(Value::U32(value));
        Ok(())
    }

    /// Gives values to what follows from others.
    fn derive(&mut self) -> Result<(), String> {
        for (i, param) in self.module.params.iter().enumerate() {
            let (ParamSource::Derived(e) | ParamSource::Set { default: e }) = &param.source else { continue };
            if self.values[i].is_none() && unknown(e, &self.values).is_none() {
                let value = eval_launch_expr(self.module, e, &self.values).map_err(|trap| text(&trap))?;
                self.values[i] = Some(value);
            }
        }
        Ok(())
    }

    fn check_requirements(&self) -> Result<(), String> {
        for requirement in &self.module.requirements {
            // Of other entries of the file.
            if unknown(&requirement.cond, &self.values).is_some() {
                continue;
            }
            match eval_launch_expr(self.module, &requirement.cond, &self.values) {
                Ok(Value::Bool(true)) => {}
                Ok(_) => return Err(format!("a `PTO_REQUIRE` is false: {}", self.facts(&requirement.cond))),
                Err(trap) => return Err(text(&trap)),
            }
        }
        Ok(())
    }

    /// The values of the parameters in an expression.
    fn facts(&self, e: &Expr) -> String {
        let mut names: Vec<String> = Vec::new();
        e.any(&mut |e| {
            if let ExprKind::Param(id) = e.kind
                && let Some(value) = self.values[id.index()]
            {
                let fact = format!("{} = {value}", self.module.params[id.index()].name);
                if !names.contains(&fact) {
                    names.push(fact);
                }
            }
            false
        });
        names.join(", ")
    }

    /// The extents of a tensor all of which are known.
    pub(super) fn dims(&self, id: TensorId) -> Result<Vec<u32>, String> {
        let exprs = self.tensor(id).dims.iter().filter_map(|dim| match dim {
            Dim::Expr(e) => Some(e),
            Dim::Dynamic | Dim::Axis(_) => None,
        });
        exprs.map(|e| self.extent(e)).collect()
    }

    fn extent(&self, e: &Expr) -> Result<u32, String> {
        let value = eval_launch_expr(self.module, e, &self.values).map_err(|trap| text(&trap))?;
        value.as_u32().ok_or_else(|| format!("an extent is {value}, and it is from 0 to {}", u32::MAX))
    }

    /// Every value; `used` are needed, others that are not known stand for nothing.
    pub(super) fn values(&self, used: &OrderedSet<ParamId>) -> Result<Vec<Value>, String> {
        if let Some(id) = used.iter().find(|id| self.values[id.index()].is_none()) {
            let name = &self.module.params[id.index()].name;
            return Err(format!("`{name}` follows from no tensor that the kernel is given"));
        }
        let params = self.module.params.iter().zip(&self.values);
        Ok(params.map(|(param, value)| value.unwrap_or(nothing(param.ty))).collect())
    }

    fn stuck(&self, one: &Given<'_>) -> String {
        let tensor = self.tensor(one.tensor);
        let names: Vec<String> = tensor
            .dims
            .iter()
            .filter_map(|dim| match dim {
                Dim::Expr(e) => unknown(e, &self.values),
                Dim::Dynamic | Dim::Axis(_) => None,
            })
            .map(|id| format!("`{}`", self.module.params[id.index()].name))
            .collect();
        format!(
            "the extents {} of `{}` do not follow from its {}: one of a tensor can, the others need a number or a `PTO_PARAM`",
            names.join(" and "),
            tensor.name,
            counted(one.bytes, "byte")
        )
    }

    fn tensor(&self, id: TensorId) -> &'m Tensor {
        &self.module.tensors[id.index()]
    }
}

fn nothing(ty: ScalarTy) -> Value {
    match ty {
        ScalarTy::Bool => Value::Bool(false),
        ScalarTy::I32 => Value::I32(0),
        ScalarTy::U32 => Value::U32(0),
        ScalarTy::I64 => Value::I64(0),
        ScalarTy::U64 => Value::U64(0),
        ScalarTy::F32 => Value::F32(0.0),
        ScalarTy::F64 => Value::F64(0.0),
    }
}
