//! Streams without fifos.

use super::Findings;
use crate::codes;
use crate::design::{Design, Port};
use crate::device::{Bundle, PACKETS, Tile};
use wsp_diag::Span;

pub(super) fn check(design: &Design, findings: &mut Findings) {
    for (i, flow) in design.flows.iter().enumerate() {
        port(design, flow.from, true, flow.span, findings);
        port(design, flow.to, false, flow.span, findings);
        if design.flows[..i].iter().any(|other| other.to == flow.to) {
            findings.add(codes::FLOW, flow.span, format!("two streams end in {}", name(flow.to)));
        }
    }
    for (i, packets) in design.packets.iter().enumerate() {
        for end in &packets.from {
            port(design, *end, true, packets.span, findings);
        }
        for end in &packets.to {
            port(design, *end, false, packets.span, findings);
            if design.flows.iter().any(|flow| flow.to == *end) {
                findings.add(
                    codes::FLOW,
                    packets.span,
                    format!("packets end in {}, where a stream ends", name(*end)),
                );
            }
        }
        if !(0..PACKETS).contains(&packets.id) {
            findings.add(
                codes::PACKET,
                packets.span,
                format!("packets of number {}, and numbers are from 0 to {}", packets.id, PACKETS - 1),
            );
        }
        if packets.from.len() != 1 || packets.to.is_empty() {
            let message = format!(
                "packets with {} sources and {} ends; they have one source, and an end",
                packets.from.len(),
                packets.to.len()
            );
            findings.add(codes::PACKET, packets.span, message);
        }
        let same = |other: &&crate::design::PacketFlow| other.id == packets.id && other.from == packets.from;
        if design.packets[..i].iter().any(|other| same(&other)) {
            findings.add(
                codes::PACKET,
                packets.span,
                format!("packets of number {} leave one port twice", packets.id),
            );
        }
    }
    for cascade in &design.cascades {
        let Tile { col, row } = cascade.from;
        let next = cascade.to == Tile::new(col.wrapping_add(1), row)
            || row > 0 && cascade.to == Tile::new(col, row - 1);
        if !next || row < 2 || cascade.to.row < 2 {
            let message = format!(
                "a cascade from tile {} to tile {}; they go to the next core to the east or south",
                cascade.from, cascade.to
            );
            findings.add(codes::CASCADE, cascade.span, message);
        }
    }
}

fn name(port: Port) -> String {
    format!("{:?} {} of tile {}", port.bundle, port.channel, port.tile)
}

/// A stream begins at a port into the tile's switch, and ends at one out of it.
fn port(design: &Design, port: Port, begins: bool, span: Span, findings: &mut Findings) {
    if design.device.kind(port.tile).is_none() {
        return;
    }
    let (masters, slaves) = design.device.ports(port.tile, port.bundle);
    let most = if begins { slaves } else { masters };
    if !(0..i64::from(most)).contains(&port.channel) {
        let code = if port.bundle == Bundle::Dma { codes::CHANNEL } else { codes::FLOW };
        findings.add(code, span, format!("no {}: there are {most} of that kind", name(port)));
    }
}
