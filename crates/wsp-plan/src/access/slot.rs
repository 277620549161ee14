//! How the fields of a workspace slot lie side by side.

use crate::fold;
use wsp_core::TensorId;
use wsp_diag::Span;
use wsp_ir::{Dim, Elem, Expr, Module, ScalarTy, Storage};

/// Every field starts on a cache line, and a slot is a whole number of them.
const ALIGN: u32 = 64;

/// Largest element of a tile tensor; stands in where the element type is known at launch only.
const WIDEST_ELEM: u32 = 8;

/// Where the fields of a workspace slot are; all values in bytes, `u32` expressions over parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct SlotLayout {
    /// Offset of each [`Storage::Workspace`] tensor in a slot, in declared order.
    pub fields: Vec<(TensorId, Expr)>,
    /// Bytes of a slot, `PTO_SLOT_BYTES`; 0 without fields.
    pub total: Expr,
}

/// The layout of a workspace slot: fields in declared order, each aligned to 64 bytes, the total rounded up to 64.
pub fn slot_layout(module: &Module) -> SlotLayout {
    let mut fields = Vec::new();
    let mut total = Expr::u32(0, Span::default());
    for (index, tensor) in module.tensors.iter().enumerate() {
        if tensor.storage != Storage::Workspace {
            continue;
        }
        fields.push((TensorId(index as u32), total.clone()));
        let elem = match tensor.elem {
            Elem::Fixed(dtype) => dtype.size() as u32,
            Elem::Of(_) => WIDEST_ELEM,
        };
        let bytes = tensor.dims.iter().fold(Expr::u32(elem, tensor.span), |bytes, dim| match dim {
            Dim::Expr(e) => fold::mul(bytes, fold::cast(e.clone(), ScalarTy::U32)),
            // A slot has launch-known dimensions only; front ends refuse others.
            Dim::Dynamic | Dim::Axis(_) => bytes,
        });
        let align = Expr::u32(ALIGN, tensor.span);
        let lines = fold::ceil_div(bytes, align.clone());
        total = fold::add(total, fold::mul(lines, align));
    }
    SlotLayout { fields, total }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::DType;
    use wsp_ir::Tensor;

    fn field(dtype: DType, dims: &[u32]) -> Tensor {
        Tensor {
            name: String::new(),
            elem: Elem::Fixed(dtype),
            dims: dims.iter().map(|d| Dim::Expr(Expr::u32(*d, Span::default()))).collect(),
            storage: Storage::Workspace,
            span: Span::default(),
        }
    }

    #[test]
    fn fields_start_on_cache_lines() {
        let module = Module {
            tensors: vec![field(DType::F32, &[3, 5]), field(DType::F16, &[33]), field(DType::F32, &[1])],
            ..Module::default()
        };
        let layout = slot_layout(&module);
        let offsets: Vec<_> = layout.fields.iter().map(|(_, e)| e.as_const_int()).collect();
        assert_eq!(offsets, [Some(0), Some(64), Some(192)]);
        assert_eq!(layout.total.as_const_int(), Some(256));
    }

    #[test]
    fn a_module_without_workspace_has_slots_of_no_bytes() {
        assert_eq!(slot_layout(&Module::default()).total.as_const_int(), Some(0));
    }
}
