//! How small boxes have to be where the memory of a core does not hold them.

use super::assign::Assigned;
use super::flow::Flows;
use super::trace::Trace;
use crate::device::{STACK, TileKind};
use crate::mlir::Type;
use wsp_diag::Diagnostic;

/// Boxes of a tensor, or a buffer, in the memory of a core.
struct Kept {
    elements: u64,
    bytes: u64,
    /// The tensor, the extents of a box, and how many are held at once.
    boxes: Option<(usize, Vec<u64>, u64)>,
}

/// What takes most of the memory of the core that takes most, and how small boxes have to be.
#[cold]
pub(super) fn with_sizes(
    mut fault: Diagnostic,
    trace: &Trace,
    (flows, assigned, buffers): (&Flows, &Assigned, &[Vec<Type>]),
) -> Diagnostic {
    let kept = |tensor: usize, len: &[u64], count: u64| {
        let elements = len.iter().product::<u64>();
        let bytes = count * elements * trace.tensors[tensor].dtype.size() as u64;
        Kept { elements, bytes, boxes: Some((tensor, len.to_vec(), count)) }
    };
    let of_core = |core: usize| {
        let objects = flows.uses[core].iter().map(|of| {
            let stream = &flows.streams[of.stream];
            kept(stream.tensor, &stream.boxes[0].len, u64::from(stream.held))
        });
        // Buffers of boxes come first.
        let locals = &flows.locals[core];
        let own = locals.iter().map(|of| kept(of.tensor, &of.len, 1));
        let others = buffers[core].iter().skip(locals.len()).map(|ty| {
            let bytes = ty.bytes().unwrap_or(0);
            Kept { elements: bytes / ty.element_bytes().unwrap_or(1).max(1), bytes, boxes: None }
        });
        objects.chain(own).chain(others).collect::<Vec<_>>()
    };
    let bytes = |core: &usize| of_core(*core).iter().map(|of| of.bytes).sum::<u64>();
    let have = TileKind::Compute.model().memory - STACK;
    let Some(core) = (0..assigned.names.len()).max_by_key(bytes).filter(|core| bytes(core) > have) else {
        return fault;
    };
    let (all, need) = (of_core(core), bytes(&core));
    let most = all.iter().filter_map(|of| Some((of, of.boxes.as_ref()?))).max_by_key(|(of, _)| of.bytes);
    let Some((Kept { elements, bytes, .. }, (tensor, len, count))) = most else {
        return fault;
    };
    let name = &trace.tensors[*tensor].name;
    let task = trace.tasks.iter().zip(&assigned.core_of).find(|(task, of)| {
        **of == core && task.touches.iter().any(|touch| touch.tensor == *tensor && touch.region.len == *len)
    });
    let kernel = task.map_or("", |(task, _)| trace.bodies[&task.func].name.as_str());
    // What has fewer elements need not have as many fewer, where it is little.
    let fewer: u64 = all.iter().filter(|of| of.elements < *elements).map(|of| of.bytes).sum();
    let fewer = if fewer <= have / 2 { fewer } else { 0 };
    let fits = elements * (have - fewer) / (need - fewer);
    fault.help = vec![format!(
        "have `{kernel}` take tiles of at most {fits} elements of `{name}`, and of other tensors as much smaller"
    )];
    fault.note(format!(
        "`{}` needs {need} bytes for boxes and buffers, of which {count} of `{name}` with {elements} elements take {bytes}, and has {have}",
        assigned.names[core],
    ))
}
