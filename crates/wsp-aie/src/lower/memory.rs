//! What cores need memory for, beside fifos.

use super::emit::Emitter;
use super::flow::End;
use super::part::Part;
use super::program::{Bodies, Program};
use crate::design::Design;
use crate::device::{DEVICES, Tile};
use crate::mlir::Type;

/// By core, the types of its buffers: boxes that stay there, what bodies of kernels use, and words of the host. They do not follow from its tile.
pub(super) fn buffers(part: &Part<'_>, bodies: &Bodies, programs: &[Program]) -> Vec<Vec<Type>> {
    let Part { trace, assigned, flows } = part;
    let ends = flows
        .streams
        .iter()
        .enumerate()
        .flat_map(|(at, of)| of.to.iter().chain([&of.from]).map(move |end| (at, end)));
    let at_core =
        ends.filter_map(
            |(at, end)| if let End::Core(core) = end { Some(((at, *core), String::new())) } else { None },
        );
    let fifos = at_core.collect();
    let of_core = |(program, name)| {
        let mut design = Design::new("", DEVICES[0]);
        let mut emitter = Emitter { trace, flows, bodies, design: &mut design, fifos: &fifos };
        emitter.core(program, Tile::new(0, 2), name);
        design.buffers.iter().map(|buffer| design.module.ty(buffer.value).clone()).collect()
    };
    programs.iter().zip(assigned.names.iter().map(String::as_str)).map(of_core).collect()
}
