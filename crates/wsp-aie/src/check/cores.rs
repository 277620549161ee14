//! Bodies of cores.

use super::Findings;
use crate::codes;
use crate::design::{Core, Design, Fifo};
use crate::device::{LOCK_MAX, PROGRAM};
use crate::mlir::{Module, Op, Type, Value};
use wsp_ordered::OrderedMap;

/// Bytes of a core's program for an operation: one instruction of the longest kind, and as many for each 16 lanes beyond the first.
const BYTES: u64 = 16;

pub(super) fn check(design: &Design, findings: &mut Findings) {
    for core in &design.cores {
        let mut held: OrderedMap<Value, (String, i64)> = OrderedMap::new();
        let mut bytes = 0;
        let mut see = |op: &Op| {
            bytes += size(&design.module, op);
            one(design, core, op, &mut held, findings);
        };
        for op in core.body.blocks.iter().flat_map(|block| &block.ops) {
            op.walk(&mut see);
        }
        if bytes > PROGRAM {
            let message = format!(
                "the program of the core on tile {} is about {bytes} bytes, and a core has {PROGRAM}",
                core.tile
            );
            findings.add(codes::PROGRAM, core.span, message).notes.push(format!(
                "{BYTES} bytes are counted for each operation, and for each 16 lanes of a vector"
            ));
        }
    }
}

/// Bytes of program that an operation takes, about.
pub(crate) fn size(module: &Module, op: &Op) -> u64 {
    let lanes = op.results.iter().chain(&op.operands).map(|value| module.ty(*value));
    let most = lanes.filter(|ty| matches!(ty, Type::Vector(_))).filter_map(Type::elements).max().unwrap_or(1);
    BYTES * most.div_ceil(16).max(1)
}

fn one(
    design: &Design,
    core: &Core,
    op: &Op,
    held: &mut OrderedMap<Value, (String, i64)>,
    findings: &mut Findings,
) {
    match op.name.as_str() {
        "aie.objectfifo.acquire" | "aie.objectfifo.release" => objects(design, core, op, held, findings),
        "aie.objectfifo.subview.access" => {
            let found = op.operands.first().and_then(|value| held.get(value));
            let Some((name, count)) = found else { return };
            let index = op.find_int("index").unwrap_or(0);
            if !(0..*count).contains(&index) {
                let message = format!("object {index} of `@{name}` is used where {count} are acquired");
                findings.add(codes::OBJECT, op.span, message);
            }
            let object = design.fifo(name).map(|fifo| &fifo.object);
            if op.results.first().map(|value| design.module.ty(*value)) != object {
                findings.add(codes::OBJECT, op.span, format!("an object of `@{name}` has another type"));
            }
        }
        "aie.use_lock" => lock(op, findings),
        "func.call" => call(design, op, findings),
        _ => {}
    }
    for value in &op.operands {
        let buffer = design.buffer(*value).map(|buffer| ("memory", buffer.tile));
        let lock = design.lock(*value).map(|lock| ("a lock", lock.tile));
        if let Some((what, tile)) = buffer.or(lock).filter(|(_, tile)| !core.tile.reaches(*tile)) {
            let message = format!("the core on tile {} does not reach {what} of tile {tile}", core.tile);
            findings
                .add(codes::REACH, op.span, message)
                .help
                .push("it reaches its own tile and those to the west, north and south".to_owned());
        }
    }
}

/// Where a fifo has an end of a core: how deep it is there.
fn end_depth(fifo: &Fifo, core: &Core, produces: bool) -> Option<u32> {
    if produces {
        return (fifo.producer.tile == core.tile).then(|| fifo.producer_depth());
    }
    let at = fifo.consumers.iter().position(|end| end.tile == core.tile)?;
    Some(if fifo.is_shared() { fifo.producer_depth() } else { fifo.consumer_depth(at) })
}

fn objects(
    design: &Design,
    core: &Core,
    op: &Op,
    held: &mut OrderedMap<Value, (String, i64)>,
    findings: &mut Findings,
) {
    let name = op.find_name("objFifo_name").unwrap_or("");
    let port = op.find_int("port").unwrap_or(-1);
    if !matches!(port, 0 | 1) {
        let message = format!("port {port} of fifo `@{name}`; 0 produces, and 1 consumes");
        findings.add(codes::PORT, op.span, message);
        return;
    }
    let produces = port == 0;
    let Some(fifo) = design.fifo(name) else {
        findings.add(codes::SYMBOL, op.span, format!("no fifo `@{name}`"));
        return;
    };
    let linked = design
        .links
        .iter()
        .any(|link| if produces { link.outs.contains(&fifo.name) } else { link.ins.contains(&fifo.name) });
    let depth = end_depth(fifo, core, produces).filter(|_| !linked || fifo.consumers.len() > 1);
    let Some(depth) = depth else {
        let what = if produces { "produce" } else { "consume" };
        findings.add(
            codes::PORT,
            op.span,
            format!("the core on tile {} does not {what} objects of `@{name}`", core.tile),
        );
        return;
    };
    let count = op.find_int("size").unwrap_or(0);
    if op.name == "aie.objectfifo.release" {
        if count < 1 {
            let message =
                format!("the core on tile {} gives {count} objects of fifo `@{name}` back", core.tile);
            findings.add(codes::DEPTH, op.span, message);
        }
        return;
    }
    if let Some(value) = op.results.first() {
        held.insert(*value, (name.to_owned(), count));
        if *design.module.ty(*value) != Type::Subview(Box::new(fifo.object.clone())) {
            findings.add(codes::OBJECT, op.span, format!("objects of `@{name}` have another type"));
        }
    }
    if count > i64::from(depth) || count <= 0 {
        let message = format!(
            "the core on tile {} acquires {count} objects of fifo `@{name}`, which is {depth} deep there",
            core.tile
        );
        findings.add(codes::DEPTH, op.span, message).labels.push(wsp_diag::Label {
            span: fifo.span,
            text: format!("a depth of {count} or more is needed here"),
        });
    }
}

/// A lock is acquired with a value that it can have, and changed by at most that much.
pub(super) fn lock(op: &Op, findings: &mut Findings) {
    let (action, value) = (op.find_int("action").unwrap_or(-1), op.find_int("value").unwrap_or(1));
    let least = if action == 1 { -LOCK_MAX } else { 0 };
    if !(0..3).contains(&action) || !(least..=LOCK_MAX).contains(&value) {
        let message = format!(
            "a lock is used with action {action} and value {value}; actions are 0 to 2, and values of this one {least} to {LOCK_MAX}"
        );
        findings.add(codes::LOCKS, op.span, message);
    }
}

fn call(design: &Design, op: &Op, findings: &mut Findings) {
    let name = op.find_name("callee").unwrap_or("");
    let Some(kernel) = design.kernels.iter().find(|kernel| kernel.name == name) else {
        findings.add(codes::CALL, op.span, format!("no function `@{name}` is declared in the device"));
        return;
    };
    let types =
        |values: &[Value]| values.iter().map(|value| design.module.ty(*value).clone()).collect::<Vec<_>>();
    if types(&op.operands) != kernel.inputs || types(&op.results) != kernel.outputs {
        let found = findings.add(
            codes::CALL,
            op.span,
            format!("kernel `@{name}` is called with other types than it is declared with"),
        );
        found.labels.push(wsp_diag::Label { span: kernel.span, text: "declared here".to_owned() });
    }
}
