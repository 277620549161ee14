//! Units of version 1: the four tables of document 000.

use wsp_core::tg::read::Ptog;
use wsp_core::tg::{Instr, TensorNo, TensorRef};
use wsp_diag::Span;
use wsp_ir::tg::{ExternTensor, TgModule};
use wsp_ordered::OrderedSet;

/// The unit of four tables. What they leave open: the graph is number 0, entries are called `entry_` and their offset, and
/// tensors that are not allocated are external.
pub(super) fn module(unit: &Ptog<'_>) -> TgModule {
    let mut module = TgModule::default();
    let mut external: OrderedSet<TensorNo> = OrderedSet::new();
    for row in unit.depends {
        external.insert(TensorNo(row.tensor_id.get()));
    }
    module.instrs.reserve_exact(unit.instrs().len());
    for mut instr in unit.instrs() {
        match &mut instr {
            Instr::TgKernel { entry_symbol, .. } => {
                *entry_symbol = module.strings.intern(&format!("entry_{}", entry_symbol.0));
            }
            Instr::McBind { tensor_id: TensorRef::Tensor(tensor), .. } => {
                external.insert(*tensor);
            }
            _ => {}
        }
        module.instrs.push(instr);
    }
    external.remove(&TensorNo::NONE);
    for row in unit.allocs {
        external.remove(&TensorNo(row.tensor_id.get()));
    }
    let declared = |tensor| ExternTensor { tensor, dtype: None, shape: Vec::new(), span: Span::default() };
    module.externs = external.into_iter().map(declared).collect();
    module
}
