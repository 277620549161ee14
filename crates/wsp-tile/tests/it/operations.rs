//! Every operation of the table, by every word, on whole tiles and on parts.

use crate::bench::Kernel;
use crate::calls::{OPERANDS, call};
use crate::table::core_with_products_in_ub;
use wsp_ir::TILE_OPS;
use wsp_tile::PingPong;

#[test]
fn every_operation_is_what_a_plain_run_makes_of_it() {
    let memories = core_with_products_in_ub();
    for row in TILE_OPS {
        for word in row.pto {
            let (call, valid) = call(row, word);
            let kernel = Kernel::new(&format!("{OPERANDS} {call} TSTORE(y, r, {{0, 0}});"));
            let program = kernel.right(&memories, PingPong::WhereItFits);
            for &rows in valid {
                kernel.agrees(&program, &memories, [2, 9, 0, rows]);
            }
        }
    }
}

#[test]
fn short_floats_are_rounded_where_they_are_stored() {
    let memories = core_with_products_in_ub();
    let kernel = Kernel::new(
        "VecTile<half, 8, 16> h; VecTile<float, 8, 16> t;
         TLOAD(t, x, {0, 0}); TMULS(t, t, 0.1f); TMOV(h, t); TMUL(h, h, t); TADDS(t, h, 1.0f);
         TSTORE(y, t, {0, 0});",
    );
    kernel.agrees(&kernel.right(&memories, PingPong::Off), &memories, [0; 4]);
}

#[test]
fn a_sum_of_nothing_is_filled_in() {
    let memories = core_with_products_in_ub();
    let kernel = Kernel::new(
        "VecTile<float, 4, 8> t; VecTile<float, 4, 1> r;
         TASSIGN(t, 3.0f, 4, desc.a); TROWSUM(r, t); TSTORE(y, r, {PTO_ROWS(0), 0});",
    );
    let program = kernel.right(&memories, PingPong::Off);
    for cols in [0, 1, 8] {
        kernel.agrees(&program, &memories, [cols, 0, 0, 0]);
    }
}
