//! The operations of a parsed file as designs.

use super::{
    Allocation, Buffer, Cascade, Core, Design, Flow, Kernel, Lock, PacketFlow, Port, Sequence, TileDma,
    TileUse, integers,
};
use crate::codes;
use crate::device::{Bundle, Device, Direction, Tile, TileKind};
use crate::mlir::{Attr, LENGTH_RANGE, Module, Op, Type, Value};
use wsp_diag::{Code, Diagnostic};
use wsp_ordered::OrderedMap;

/// What is read, or why it cannot be.
pub(super) type Read<T> = Result<T, Box<Diagnostic>>;

impl Design {
    /// The designs of a file, one for each device.
    ///
    /// # Errors
    /// The first operation that has no place in a design, or lacks what it needs.
    pub fn read(module: &Module) -> Result<Vec<Design>, Diagnostic> {
        let mut designs = Vec::new();
        for op in &module.ops {
            match op.name.as_str() {
                "aie.device" => designs.push(device(module, op).map_err(|fault| *fault)?),
                _ => return Err(*misplaced(op, "a file")),
            }
        }
        if designs.is_empty() {
            let message = "no `aie.device` is in the file";
            return Err(
                Diagnostic::error(codes::ATTRIBUTE, message).help("a design is `aie.device(npu2) { … }`")
            );
        }
        Ok(designs)
    }
}

pub(super) fn fault<T>(op: &Op, code: Code, message: String) -> Read<T> {
    Err(Box::new(Diagnostic::error(code, message).at(op.span, "")))
}

fn misplaced(op: &Op, place: &str) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(codes::OPERATION, format!("`{}` has no place in {place}", op.name)).at(op.span, ""),
    )
}

/// What is known of a device so far.
pub(super) struct Reading {
    pub(super) design: Design,
    tiles: OrderedMap<Value, Tile>,
}

fn device(module: &Module, op: &Op) -> Read<Design> {
    let number = int(op, "device")?;
    let Some(device) = Device::of_number(number) else {
        return fault(
            op,
            codes::DEVICE,
            format!("no array of number {number} is known here; `npu1` and `npu2` are, and parts of them"),
        );
    };
    let mut design = Design::new(op.find_name("sym_name").unwrap_or(""), device);
    design.module.values.clone_from(&module.values);
    let mut reading = Reading { design, tiles: OrderedMap::new() };
    only(op, &["device", "sym_name"])?;
    one_block(op)?;
    for op in op.body() {
        reading.op(op)?;
    }
    Ok(reading.design)
}

/// Refuses blocks behind the one that is read.
fn one_block(op: &Op) -> Read<()> {
    match op.regions.first().map_or(0, |region| region.blocks.len()) {
        0 | 1 => Ok(()),
        count => fault(op, codes::ARITY, format!("`{}` has {count} blocks, and one is read", op.name)),
    }
}

/// An integer that has to be there.
fn int(op: &Op, name: &str) -> Read<i64> {
    match op.find_int(name) {
        Some(value) => Ok(value),
        None => fault(op, codes::ATTRIBUTE, format!("`{}` has no integer `{name}`", op.name)),
    }
}

/// An integer that may be missing, and is not below 0.
pub(super) fn count<T: TryFrom<i64>>(op: &Op, name: &str) -> Read<Option<T>> {
    match op.find(name) {
        None => Ok(None),
        Some(Attr::Int(value, _)) if T::try_from(*value).is_ok() => Ok(T::try_from(*value).ok()),
        Some(_) => fault(op, codes::ATTRIBUTE, format!("`{name}` of `{}` is no count", op.name)),
    }
}

/// A name that has to be there.
pub(super) fn name(op: &Op, attr: &str) -> Read<String> {
    match op.find_name(attr) {
        Some(name) => Ok(name.to_owned()),
        None => fault(op, codes::ATTRIBUTE, format!("`{}` has no name `{attr}`", op.name)),
    }
}

fn some_name(op: &Op, attr: &str) -> Option<String> {
    op.find_name(attr).map(str::to_owned)
}

/// Refuses attributes that would be lost.
pub(super) fn only(op: &Op, known: &[&str]) -> Read<()> {
    match op.attrs.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        Some((name, _)) => {
            fault(op, codes::ATTRIBUTE, format!("`{name}` of `{}` is not known here", op.name))
        }
        None => Ok(()),
    }
}

pub(super) fn direction(op: &Op, attr: &str) -> Read<Direction> {
    match int(op, attr)? {
        0 => Ok(Direction::S2mm),
        1 => Ok(Direction::Mm2s),
        other => fault(
            op,
            codes::ATTRIBUTE,
            format!("`{attr}` of `{}` is {other}, and 0 or 1 are directions", op.name),
        ),
    }
}

const BUNDLES: [Option<Bundle>; 11] = [
    Some(Bundle::Core),
    Some(Bundle::Dma),
    Some(Bundle::Fifo),
    Some(Bundle::South),
    Some(Bundle::West),
    Some(Bundle::North),
    Some(Bundle::East),
    None,
    None,
    Some(Bundle::Trace),
    Some(Bundle::Control),
];

/// The number of a bundle in the text of designs.
pub(super) fn bundle_number(bundle: Bundle) -> i64 {
    BUNDLES.iter().position(|have| *have == Some(bundle)).map_or(0, |at| at as i64)
}

impl Reading {
    pub(super) fn tile(&self, op: &Op, at: usize) -> Read<Tile> {
        match op.operands.get(at).and_then(|value| self.tiles.get(value)) {
            Some(tile) => Ok(*tile),
            None => fault(op, codes::ARITY, format!("operand {at} of `{}` is no tile", op.name)),
        }
    }

    fn made(&self, op: &Op) -> Read<Value> {
        match op.results.as_slice() {
            [value] => Ok(*value),
            _ => fault(op, codes::ARITY, format!("`{}` makes one value", op.name)),
        }
    }

    fn port(&self, op: &Op, at: usize, bundle: &str, channel: &str) -> Read<Port> {
        let number = int(op, bundle)?;
        let found = usize::try_from(number).ok().and_then(|at| BUNDLES.get(at).copied().flatten());
        let Some(bundle) = found else {
            return fault(
                op,
                codes::ATTRIBUTE,
                format!("`{bundle}` of `{}` is {number}, which no port has here", op.name),
            );
        };
        Ok(Port { tile: self.tile(op, at)?, bundle, channel: int(op, channel)? })
    }

    fn op(&mut self, op: &Op) -> Read<()> {
        let span = op.span;
        match op.name.as_str() {
            "aie.tile" => self.tile_use(op)?,
            "func.func" => self.kernel(op)?,
            "aie.buffer" | "aie.lock" => self.memory(op)?,
            "aie.objectfifo" => self.fifo(op)?,
            "aie.objectfifo.allocate" => self.allocate(op)?,
            "aie.objectfifo.link" => self.link(op)?,
            "aie.flow" => {
                only(op, &["source_bundle", "source_channel", "dest_bundle", "dest_channel"])?;
                let from = self.port(op, 0, "source_bundle", "source_channel")?;
                let to = self.port(op, 1, "dest_bundle", "dest_channel")?;
                self.design.flows.push(Flow { from, to, span });
            }
            "aie.packet_flow" => self.packets(op)?,
            "aie.cascade_flow" => {
                let (from, to) = (self.tile(op, 0)?, self.tile(op, 1)?);
                self.design.cascades.push(Cascade { from, to, span });
            }
            "aie.shim_dma_allocation" => {
                only(op, &["sym_name", "channel_dir", "channel_index"])?;
                let (name, tile) = (name(op, "sym_name")?, self.tile(op, 0)?);
                let (direction, channel) = (direction(op, "channel_dir")?, int(op, "channel_index")?);
                self.design.allocations.push(Allocation { name, tile, direction, channel, span });
            }
            "aie.core" => {
                only(op, &["stack_size", "link_with"])?;
                let (value, tile, stack) = (self.made(op)?, self.tile(op, 0)?, count(op, "stack_size")?);
                let body = op.regions.first().cloned().unwrap_or_default();
                self.design.cores.push(Core {
                    value,
                    tile,
                    stack,
                    link_with: some_name(op, "link_with"),
                    body,
                    span,
                });
            }
            "aie.mem" | "aie.memtile_dma" | "aie.shim_dma" => {
                only(op, &[])?;
                let (value, tile) = (self.made(op)?, self.tile(op, 0)?);
                let kind = match op.name.as_str() {
                    "aie.mem" => TileKind::Compute,
                    "aie.memtile_dma" => TileKind::Memory,
                    _ => TileKind::Shim,
                };
                if let Some(other) = self.design.device.kind(tile).filter(|other| *other != kind) {
                    let message = format!(
                        "`{}` is for channels of a {}, and tile {tile} is a {}",
                        op.name,
                        kind.name(),
                        other.name()
                    );
                    return fault(op, codes::KIND, message);
                }
                let body = self.chains(op.regions.first().cloned().unwrap_or_default())?;
                self.design.dmas.push(TileDma { value, tile, body, span });
            }
            "aie.runtime_sequence" => {
                only(op, &["sym_name", LENGTH_RANGE])?;
                one_block(op)?;
                let block =
                    op.regions.first().and_then(|region| region.blocks.first()).cloned().unwrap_or_default();
                let name = some_name(op, "sym_name").unwrap_or_default();
                let lengths = match op.find(LENGTH_RANGE) {
                    None => None,
                    Some(Attr::Dense(Type::Int(64), ends)) if ends.len() == 2 && ends[0] <= ends[1] => {
                        Some((ends[0], ends[1]))
                    }
                    Some(_) => {
                        let message =
                            format!("`{LENGTH_RANGE}` of `{}` is not `array<i64: FIRST, LAST>`", op.name);
                        return fault(op, codes::ATTRIBUTE, message);
                    }
                };
                let is_number = |value: &Value| integers(self.design.module.ty(*value)).is_some();
                if lengths.is_some() && !block.args.last().is_some_and(is_number) {
                    let message =
                        format!("`{LENGTH_RANGE}` of `{}`, whose last argument is no integer", op.name);
                    return fault(op, codes::ATTRIBUTE, message);
                }
                self.design.sequences.push(Sequence {
                    name,
                    args: block.args,
                    lengths,
                    body: block.ops,
                    span,
                });
            }
            "aie.end" => {}
            _ => return Err(misplaced(op, "a device")),
        }
        Ok(())
    }

    fn tile_use(&mut self, op: &Op) -> Read<()> {
        only(op, &["col", "row", "allocation_scheme"])?;
        let place = (count(op, "col")?, count(op, "row")?);
        let (Some(col), Some(row)) = place else {
            return fault(op, codes::ATTRIBUTE, "`aie.tile` has no place".to_owned());
        };
        let (value, tile) = (self.made(op)?, Tile::new(col, row));
        self.tiles.insert(value, tile);
        self.design.tiles.push(TileUse {
            value,
            tile,
            scheme: some_name(op, "allocation_scheme"),
            span: op.span,
        });
        Ok(())
    }

    fn kernel(&mut self, op: &Op) -> Read<()> {
        only(op, &["sym_name", "function_type", "sym_visibility", "link_with"])?;
        let Some(Attr::Type(Type::Function(inputs, outputs))) = op.find("function_type") else {
            return fault(op, codes::ATTRIBUTE, "`func.func` has no type of a function".to_owned());
        };
        if op.regions.iter().any(|region| !region.blocks.is_empty()) {
            return fault(
                op,
                codes::OPERATION,
                "a function with a body in a device: kernels are declared, and linked".to_owned(),
            );
        }
        let link_with = some_name(op, "link_with");
        let (inputs, outputs) = (inputs.clone(), outputs.clone());
        self.design.kernels.push(Kernel {
            name: name(op, "sym_name")?,
            inputs,
            outputs,
            link_with,
            span: op.span,
        });
        Ok(())
    }

    pub(super) fn memory(&mut self, op: &Op) -> Read<()> {
        let (value, tile, span) = (self.made(op)?, self.tile(op, 0)?, op.span);
        let name = some_name(op, "sym_name");
        if op.name == "aie.buffer" {
            only(op, &["sym_name", "address", "mem_bank"])?;
            let (address, bank) = (count(op, "address")?, count(op, "mem_bank")?);
            if self.design.module.ty(value).bytes().is_none() {
                return fault(op, codes::TYPE, "a buffer of no fixed number of bytes".to_owned());
            }
            self.design.buffers.push(Buffer { value, tile, name, address, bank, span });
        } else {
            only(op, &["sym_name", "lockID", "init"])?;
            let (id, init) = (op.find_int("lockID"), op.find_int("init").unwrap_or(0));
            self.design.locks.push(Lock { value, tile, id, init, name, span });
        }
        Ok(())
    }

    fn packets(&mut self, op: &Op) -> Read<()> {
        only(op, &["ID", "keep_pkt_header"])?;
        one_block(op)?;
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for end in op.body() {
            let port = self.port(end, 0, "bundle", "channel")?;
            match end.name.as_str() {
                "aie.packet_source" => from.push(port),
                "aie.packet_dest" => to.push(port),
                _ => return Err(misplaced(end, "a flow of packets")),
            }
        }
        let keep_header = match op.find("keep_pkt_header") {
            Some(Attr::Bool(keep)) => Some(*keep),
            _ => None,
        };
        self.design.packets.push(PacketFlow { id: int(op, "ID")?, from, to, keep_header, span: op.span });
        Ok(())
    }
}
