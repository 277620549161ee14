//! Fifos of a parsed file, their links, and where their objects are kept.

use super::read::{Read, Reading, count, fault, name, only};
use super::{End, Fifo, Link};
use crate::codes;
use crate::mlir::{Attr, Dim, Op, Type};
use wsp_diag::{Diagnostic, Span};

impl Reading {
    /// Where the objects of a fifo are kept.
    pub(super) fn allocate(&mut self, op: &Op) -> Read<()> {
        let (name, tile) = (name(op, "objFifo_name")?, self.tile(op, 0)?);
        let Some(fifo) = self.design.fifos.iter_mut().find(|fifo| fifo.name == name) else {
            return fault(op, codes::SYMBOL, format!("no fifo `@{name}` stands before"));
        };
        if fifo.home.is_some() {
            let message =
                format!("fifo `@{name}` is kept on two tiles; one `aie.objectfifo.allocate` is for it");
            let found = Diagnostic::error(codes::TWICE, message).at(fifo.span, "");
            return Err(Box::new(found.label(op.span, "the second stands here")));
        }
        (fifo.home, fifo.home_span) = (Some(tile), op.span);
        Ok(())
    }

    pub(super) fn fifo(&mut self, op: &Op) -> Read<()> {
        let known = [
            "sym_name",
            "elemNumber",
            "elemType",
            "dimensionsToStream",
            "dimensionsFromStreamPerConsumer",
            "via_DMA",
            "repeat_count",
        ];
        let Some(Attr::Type(Type::Fifo(object))) = op.find("elemType") else {
            return fault(op, codes::ATTRIBUTE, "a fifo has a type `!aie.objectfifo<memref<…>>`".to_owned());
        };
        if object.bytes().is_none() || !matches!(**object, Type::MemRef(_)) {
            return fault(
                op,
                codes::TYPE,
                "the objects of a fifo are memory of a fixed number of bytes".to_owned(),
            );
        }
        let to = match op.find("dimensionsToStream") {
            Some(Attr::Dims(dims)) => dims.clone(),
            _ => Vec::new(),
        };
        let from: Vec<Vec<Dim>> = match op.find("dimensionsFromStreamPerConsumer") {
            Some(Attr::DimsPer(per)) => per.clone(),
            _ => Vec::new(),
        };
        let mut consumers = Vec::new();
        for at in 1..op.operands.len() {
            consumers
                .push(End { tile: self.tile(op, at)?, dims: from.get(at - 1).cloned().unwrap_or_default() });
        }
        if consumers.is_empty() {
            return fault(op, codes::ARITY, "a fifo has a consumer".to_owned());
        }
        self.design.fifos.push(Fifo {
            name: name(op, "sym_name")?,
            producer: End { tile: self.tile(op, 0)?, dims: to },
            depths: depths(op, consumers.len())?,
            consumers,
            object: (**object).clone(),
            via_dma: op.is("via_DMA"),
            repeat: count(op, "repeat_count")?,
            home: None,
            home_span: Span::default(),
            others: op.attrs.iter().filter(|(name, _)| !known.contains(&name.as_str())).cloned().collect(),
            span: op.span,
        });
        Ok(())
    }

    pub(super) fn link(&mut self, op: &Op) -> Read<()> {
        only(op, &["fifoIns", "fifoOuts", "src_offsets", "dst_offsets"])?;
        let array = |attr: &str| match op.find(attr) {
            Some(Attr::Array(items)) => items.as_slice(),
            _ => &[],
        };
        let names = |attr: &str| -> Vec<String> {
            let name = |item: &Attr| match item {
                Attr::Symbol(name) => Some(name.clone()),
                _ => None,
            };
            array(attr).iter().filter_map(name).collect()
        };
        let ints = |attr: &str| -> Vec<i64> {
            let int = |item: &Attr| match item {
                Attr::Int(value, _) => Some(*value),
                _ => None,
            };
            array(attr).iter().filter_map(int).collect()
        };
        self.design.links.push(Link {
            ins: names("fifoIns"),
            outs: names("fifoOuts"),
            join: ints("src_offsets"),
            distribute: ints("dst_offsets"),
            span: op.span,
        });
        Ok(())
    }
}

/// The depths of a fifo.
fn depths(op: &Op, consumers: usize) -> Read<Vec<u32>> {
    let depth = |attr: &Attr| match attr {
        Attr::Int(value, _) => u32::try_from(*value).ok(),
        _ => None,
    };
    let found: Option<Vec<u32>> = match op.find("elemNumber") {
        Some(Attr::Array(all)) if all.len() == consumers + 1 => all.iter().map(depth).collect(),
        Some(one @ Attr::Int(..)) => depth(one).map(|depth| vec![depth]),
        _ => None,
    };
    match found {
        Some(depths) => Ok(depths),
        None => fault(
            op,
            codes::ATTRIBUTE,
            format!("a fifo with {consumers} consumers has one depth, or {}", consumers + 1),
        ),
    }
}
