//! Designs as operations.

use super::read::bundle_number;
use super::{Design, Fifo, Port};
use crate::device::{Direction, Tile};
use crate::mlir::{Attr, Block, LENGTH_RANGE, Module, Op, Region, Type, Value};
use wsp_diag::Span;

impl Design {
    /// The design as a file.
    pub fn module(&self) -> Module {
        let mut ops = self.structure();
        self.streams(&mut ops);
        for core in &self.cores {
            let mut op = Op::new("aie.core").with([self.at(core.tile)]).result(core.value);
            set_int(&mut op, "stack_size", core.stack.map(|stack| stack as i64));
            set_name(&mut op, "link_with", core.link_with.as_deref());
            op.regions.push(core.body.clone());
            ops.push(spanned(op, core.span));
        }
        for dma in &self.dmas {
            let name = match dma.tile.row {
                0 => "aie.shim_dma",
                1 => "aie.memtile_dma",
                _ => "aie.mem",
            };
            let mut op = Op::new(name).with([self.at(dma.tile)]).result(dma.value);
            op.regions.push(dma.body.clone());
            ops.push(spanned(op, dma.span));
        }
        for sequence in &self.sequences {
            let mut op = Op::new("aie.runtime_sequence");
            set_name(&mut op, "sym_name", Some(sequence.name.as_str()).filter(|name| !name.is_empty()));
            if let Some((first, last)) = sequence.lengths {
                op.set(LENGTH_RANGE, Attr::Dense(Type::Int(64), vec![first, last]));
            }
            let block = Block { args: sequence.args.clone(), ops: sequence.body.clone() };
            op.regions.push(Region { blocks: vec![block] });
            ops.push(spanned(op, sequence.span));
        }
        let mut device = Op::new("aie.device").int("device", self.device.number);
        set_name(&mut device, "sym_name", Some(self.name.as_str()).filter(|name| !name.is_empty()));
        Module { ops: vec![device.region(Vec::new(), ops)], values: self.module.values.clone() }
    }

    /// The value of a tile. Designs name only tiles that they use; another would be printed as the first.
    fn at(&self, tile: Tile) -> Value {
        self.tiles.iter().find(|used| used.tile == tile).map_or(Value(0), |used| used.value)
    }

    fn structure(&self) -> Vec<Op> {
        let mut ops = Vec::new();
        for kernel in &self.kernels {
            let ty = Type::Function(kernel.inputs.clone(), kernel.outputs.clone());
            let mut op = Op::new("func.func").attr("function_type", Attr::Type(ty));
            set_name(&mut op, "sym_name", Some(&kernel.name));
            set_name(&mut op, "sym_visibility", Some("private"));
            set_name(&mut op, "link_with", kernel.link_with.as_deref());
            op.regions.push(Region::default());
            ops.push(spanned(op, kernel.span));
        }
        for used in &self.tiles {
            let mut op =
                Op::new("aie.tile").int("col", used.tile.col.into()).int("row", used.tile.row.into());
            set_name(&mut op, "allocation_scheme", used.scheme.as_deref());
            ops.push(spanned(op.result(used.value), used.span));
        }
        for buffer in &self.buffers {
            let mut op = Op::new("aie.buffer").with([self.at(buffer.tile)]).result(buffer.value);
            set_name(&mut op, "sym_name", buffer.name.as_deref());
            set_int(&mut op, "address", buffer.address.map(|address| address as i64));
            set_int(&mut op, "mem_bank", buffer.bank.map(i64::from));
            ops.push(spanned(op, buffer.span));
        }
        for lock in &self.locks {
            let mut op =
                Op::new("aie.lock").with([self.at(lock.tile)]).result(lock.value).int("init", lock.init);
            set_name(&mut op, "sym_name", lock.name.as_deref());
            set_int(&mut op, "lockID", lock.id);
            ops.push(spanned(op, lock.span));
        }
        ops
    }

    fn streams(&self, ops: &mut Vec<Op>) {
        for fifo in &self.fifos {
            ops.push(spanned(self.fifo_op(fifo), fifo.span));
            if let Some(home) = fifo.home {
                let op = Op::new("aie.objectfifo.allocate").with([self.at(home)]);
                let op = op.attr("objFifo_name", Attr::Symbol(fifo.name.clone()));
                ops.push(spanned(op, fifo.home_span));
            }
        }
        for link in &self.links {
            let names = |names: &[String]| Attr::Array(names.iter().cloned().map(Attr::Symbol).collect());
            let ints =
                |ints: &[i64]| Attr::Array(ints.iter().map(|int| Attr::Int(*int, Type::Int(64))).collect());
            let op = Op::new("aie.objectfifo.link")
                .attr("fifoIns", names(&link.ins))
                .attr("fifoOuts", names(&link.outs))
                .attr("src_offsets", ints(&link.join))
                .attr("dst_offsets", ints(&link.distribute));
            ops.push(spanned(op, link.span));
        }
        for flow in &self.flows {
            let op = Op::new("aie.flow").with([self.at(flow.from.tile), self.at(flow.to.tile)]);
            let op = op
                .int("source_bundle", bundle_number(flow.from.bundle))
                .int("source_channel", flow.from.channel);
            let op =
                op.int("dest_bundle", bundle_number(flow.to.bundle)).int("dest_channel", flow.to.channel);
            ops.push(spanned(op, flow.span));
        }
        for packets in &self.packets {
            let end = |name: &'static str| {
                move |port: &Port| {
                    let op = Op::new(name).with([self.at(port.tile)]);
                    op.int("bundle", bundle_number(port.bundle)).int("channel", port.channel)
                }
            };
            let ends = packets
                .from
                .iter()
                .map(end("aie.packet_source"))
                .chain(packets.to.iter().map(end("aie.packet_dest")));
            let mut op = Op::new("aie.packet_flow").int("ID", packets.id).region(Vec::new(), ends.collect());
            if let Some(keep) = packets.keep_header {
                op.set("keep_pkt_header", Attr::Bool(keep));
            }
            ops.push(spanned(op, packets.span));
        }
        for cascade in &self.cascades {
            let op = Op::new("aie.cascade_flow").with([self.at(cascade.from), self.at(cascade.to)]);
            ops.push(spanned(op, cascade.span));
        }
        for given in &self.allocations {
            let mut op = Op::new("aie.shim_dma_allocation").with([self.at(given.tile)]);
            set_name(&mut op, "sym_name", Some(&given.name));
            let op = op.int("channel_dir", i64::from(given.direction == Direction::Mm2s));
            ops.push(spanned(op.int("channel_index", given.channel), given.span));
        }
    }

    fn fifo_op(&self, fifo: &Fifo) -> Op {
        let mut op = Op::new("aie.objectfifo").with([self.at(fifo.producer.tile)]);
        op.operands.extend(fifo.consumers.iter().map(|end| self.at(end.tile)));
        set_name(&mut op, "sym_name", Some(&fifo.name));
        let int = |depth: &u32| Attr::Int(i64::from(*depth), Type::Int(32));
        let depth = match fifo.depths.as_slice() {
            [one] => int(one),
            all => Attr::Array(all.iter().map(int).collect()),
        };
        op.set("elemNumber", depth);
        op.set("elemType", Attr::Type(Type::Fifo(Box::new(fifo.object.clone()))));
        op.set("dimensionsToStream", Attr::Dims(fifo.producer.dims.clone()));
        let per = fifo.consumers.iter().map(|end| end.dims.clone()).collect();
        op.set("dimensionsFromStreamPerConsumer", Attr::DimsPer(per));
        if fifo.via_dma {
            op.set("via_DMA", Attr::Bool(true));
        }
        set_int(&mut op, "repeat_count", fifo.repeat.map(i64::from));
        for (name, value) in &fifo.others {
            op.set(name, value.clone());
        }
        op
    }
}

fn spanned(mut op: Op, span: Span) -> Op {
    op.span = span;
    op
}

fn set_name(op: &mut Op, attr: &str, name: Option<&str>) {
    if let Some(name) = name {
        op.set(attr, Attr::Str(name.to_owned()));
    }
}

fn set_int(op: &mut Op, attr: &str, value: Option<i64>) {
    if let Some(value) = value {
        op.set(attr, Attr::Int(value, Type::Int(32)));
    }
}
