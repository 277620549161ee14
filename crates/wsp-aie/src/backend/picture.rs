//! A picture of a placement: the tiles of the array with what stands on them, and what flows between them.

use crate::device::{Tile, TileKind};
use crate::lower::Placed;
use std::fmt::Write as _;

/// Points of a side of a tile.
const SIDE: u32 = 96;
/// Points from one tile to the next.
const STEP: u32 = 120;

/// The middle of a tile.
fn middle(rows: u32, tile: Tile) -> (u32, u32) {
    (STEP * tile.col + STEP / 2, STEP * (rows - 1 - tile.row) + STEP / 2)
}

/// A text within a picture.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// SVG of a placement.
pub(super) fn picture(placed: &Placed) -> String {
    let device = placed.graph.device;
    let (width, height) = (STEP * device.cols, STEP * device.rows);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"9\">\n"
    );
    for tile in device.tiles() {
        let (x, y) = middle(device.rows, tile);
        let fill = match device.kind(tile) {
            Some(TileKind::Compute) => "#eef4fb",
            Some(TileKind::Memory) => "#eefbef",
            _ => "#f6f0e6",
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"{fill}\" stroke=\"#999\"/>",
            x - SIDE / 2,
            y - SIDE / 2
        );
        let on = placed.graph.nodes.iter().zip(&placed.tiles).filter(|(_, at)| **at == tile);
        let names = [tile.to_string()].into_iter().chain(on.map(|(node, _)| node.name.clone()));
        for (line, name) in names.enumerate().take(8) {
            let name: String = name.chars().take(22).collect();
            let (x, y) = (x - SIDE / 2 + 4, y - SIDE / 2 + 12 + 11 * line as u32);
            let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\">{}</text>", escaped(&name));
        }
    }
    let most = placed.graph.nets.iter().map(|net| net.traffic).max().unwrap_or(1).max(1);
    for net in &placed.graph.nets {
        let (x, y) = middle(device.rows, placed.tiles[net.from]);
        for to in &net.to {
            let (to_x, to_y) = middle(device.rows, placed.tiles[*to]);
            let wide = 1.0 + 3.0 * net.traffic as f64 / most as f64;
            let _ = writeln!(
                out,
                "<line x1=\"{x}\" y1=\"{y}\" x2=\"{to_x}\" y2=\"{to_y}\" stroke=\"#c33\" stroke-opacity=\"0.4\" stroke-width=\"{wide:.1}\"><title>{}: {} bytes</title></line>",
                escaped(&net.name),
                net.traffic
            );
        }
    }
    out + "</svg>\n"
}
