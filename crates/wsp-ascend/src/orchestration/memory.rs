//! Memory of a launch as C++: which tensors share it, and how large what no array of a user is.

use super::{Source, launch, quoted};
use crate::writer::Writer;
use wsp_core::{DType, TensorId};
use wsp_ir::{Dim, Storage};
use wsp_plan::{LoweredPlan, slot_layout};

/// Whether an axis is a dimension of a tensor.
pub(super) fn is_dimension(plan: &LoweredPlan, axis: usize) -> bool {
    let dims = plan.module.tensors.iter().flat_map(|tensor| &tensor.dims);
    dims.into_iter().any(|dim| matches!(dim, Dim::Axis(of) if of.index() == axis))
}

/// Memory of tensors that no array of a user is.
pub(super) fn memory_of(out: &mut Writer, source: &Source<'_>) {
    let (plan, names) = (source.plan, source.names);
    let printer = launch::printer(source);
    let layout = slot_layout(&plan.module);
    for (at, tensor) in plan.module.tensors.iter().enumerate() {
        let id = TensorId(at as u32);
        let name = names.tensor(id);
        let bytes = source.elem(id).map_or(4, DType::size);
        let used = plan.tensors[at].read || plan.tensors[at].written;
        match &tensor.storage {
            _ if plan.memory[at] != id => {
                out.line(format!("l.{name} = l.{};", names.tensor(plan.memory[at])));
            }
            Storage::Launch if launch::user_name(&plan.module, id).is_some() => {
                out.line(format!("memory.launched(l.{name}, {}, {at});", quoted(&tensor.name)));
            }
            Storage::CacheKeys(_) | Storage::CacheValues(_) => out.line(format!("l.{name}.buffer = {at};")),
            Storage::Launch | Storage::Temporary if used => {
                let dims: Vec<String> =
                    tensor.dims.iter().map(|dim| launch::extent(source, &printer, dim)).collect();
                let dims = dims.join(", ");
                let is_given = source.walk.is_some_and(|walk| walk.given.contains(&id));
                out.line(match is_given {
                    true => format!("memory.shaped(l.{name}, {at}, {bytes}, {{{dims}}});"),
                    false => {
                        format!(
                            "memory.temporary(l.{name}, {}, {at}, {bytes}, {{{dims}}});",
                            quoted(&tensor.name)
                        )
                    }
                });
            }
            Storage::Workspace => {
                let offset = layout.fields.iter().find(|(field, _)| *field == id).map(|(_, offset)| offset);
                let offset = offset.map_or("0".to_owned(), |e| printer.expr(e));
                out.line(format!("memory.workspace(l.{name}, l.workspace_bytes, {offset}, {at}, {bytes});"));
            }
            Storage::Launch | Storage::Temporary => {}
        }
    }
    out.line(format!("memory.buffers = {};", plan.module.tensors.len()));
}
