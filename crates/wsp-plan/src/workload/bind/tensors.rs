//! Extents of tensors.

use super::super::codes;
use super::Binder;
use wsp_diag::Diagnostic;
use wsp_ir::workload::{IntExprKind, ParamSource, Tensor};

impl Binder<'_> {
    /// The extents of every tensor; 0 in place of one that is at fault.
    pub(super) fn shapes(&mut self) -> Vec<Vec<u32>> {
        self.module.tensors.iter().map(|tensor| self.shape(tensor)).collect()
    }

    fn shape(&mut self, tensor: &Tensor) -> Vec<u32> {
        let mut shape = Vec::with_capacity(tensor.dims.len());
        for (dim, expr) in tensor.dims.iter().enumerate() {
            let Some(value) = self.value(expr) else {
                shape.push(0);
                continue;
            };
            shape.push(u32::try_from(value).unwrap_or_else(|_| {
                self.no_extent(tensor, dim, value);
                0
            }));
        }
        self.size_fits(tensor, &shape);
        shape
    }

    /// Reports an extent that no tensor has, with the values that it follows from.
    fn no_extent(&mut self, tensor: &Tensor, dim: usize, value: i64) {
        let expr = &tensor.dims[dim];
        let mut params = Vec::new();
        expr.each(&mut |kind| match kind {
            IntExprKind::Param(id) if !params.contains(id) => params.push(*id),
            _ => {}
        });
        let list = |form: &dyn Fn(&str, i64) -> String, settable: bool| {
            let of =
                params.iter().map(|id| (&self.module.params[id.index()], self.values.params[id.index()]));
            let of = of.filter(|(param, _)| !settable || matches!(param.source, ParamSource::Set(_)));
            of.map(|(param, value)| form(&param.name, value)).collect::<Vec<_>>()
        };
        let message = format!("dimension {dim} of tensor `{}` has extent {value}", tensor.name);
        let mut fault = Diagnostic::error(codes::TENSOR_EXTENT, message)
            .at(expr.span, format!("extents are 0 to {}", u32::MAX))
            .label(tensor.span, "the tensor");
        let values = list(&|name, value| format!("`{name}` is {value}"), false);
        if !values.is_empty() {
            fault = fault.note(values.join(", "));
        }
        let names = list(&|name, _| format!("`{name}`"), true).join(" and ");
        fault = match &*names {
            "" => fault.help(format!("write an extent of 0 to {}", u32::MAX)),
            _ => {
                let how = format!("give {names} such a value that the extent is 0 to {}", u32::MAX);
                let typed = list(&|name, _| format!("--set {name}=4"), true).join(" ");
                let given = list(&|name, _| format!("{name}=128"), true).join(", ");
                fault.help(format!("{how}: `{typed}`")).python(format!("{how}: `{given}`"))
            }
        };
        self.found.push(fault);
    }

    /// Reports a tensor whose bytes cannot be counted.
    fn size_fits(&mut self, tensor: &Tensor, shape: &[u32]) {
        let bytes = shape
            .iter()
            .filter(|extent| **extent > 0)
            .try_fold(tensor.dtype.size() as u64, |bytes, extent| {
                bytes.checked_mul(u64::from(*extent)).filter(|bytes| *bytes <= i64::MAX as u64)
            });
        if bytes.is_none() {
            let extents: Vec<String> = shape.iter().map(u32::to_string).collect();
            let message = format!("tensor `{}` is larger than memory can be", tensor.name);
            self.found.push(
                Diagnostic::error(codes::TENSOR_SIZE, message)
                    .at(tensor.span, format!("[{}]", extents.join(", ")))
                    .note(format!("its bytes do not fit into {}", i64::MAX))
                    .python("give smaller sizes"),
            );
        }
    }
}
