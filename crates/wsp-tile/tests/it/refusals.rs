//! What is refused, and what is said of it.

use crate::bench::{Kernel, told};
use crate::mutate::{with_instructions, with_syncs};
use crate::table::{MTE1, MTE2, UB, core};
use wsp_core::FuncId;
use wsp_tile::{Event, Head, Known, Loop, LoopId, Memories, Node, PingPong, Sync, UnitId, place, specialise};

fn refused(kernel: &Kernel, memories: &Memories) -> String {
    told(&kernel.ordered(memories, PingPong::Off).unwrap_err())
}

#[test]
fn an_operation_that_no_unit_does() {
    let mut memories = core();
    memories.computes[0].ops.retain(|op| op != "cumsum");
    let kernel =
        Kernel::new("VecTile<float, 2, 8> t; TLOAD(t, x, {0, 0}); TCUMSUM(t, t); TSTORE(y, t, {0, 0});");
    let text = refused(&kernel, &memories);
    assert!(text.contains("error[WSP1703]: no unit of `core` does `cumsum` on f32, f32"), "{text}");
}

#[test]
fn a_transfer_that_no_unit_makes() {
    let kernel = Kernel::new(
        "VecTile<float, 16, 16> t; RightTile<float, 16, 16> r; AccTile<float, 16, 16> acc;
         TLOAD(t, x, {0, 0}); TLOAD(r, x, {0, 0}); TEXP(t, t); TMATMUL(acc, t, r); TSTORE(y, acc, {0, 0});",
    );
    let text = refused(&kernel, &core());
    assert!(text.contains("error[WSP1704]: no unit of `core` moves a tile from UB to L0A"), "{text}");
    assert!(text.contains("split the kernel in two that exchange the tile through a tensor"), "{text}");
}

#[test]
fn buffers_that_do_not_fit_are_listed_with_what_to_make_smaller() {
    let mut memories = core();
    memories.memories[UB.index()].capacity = 1024;
    let kernel = Kernel::new(
        "VecTile<float, 8, 16> wide; VecTile<float, 8, 32> wider; VecTile<float, 1, 8> small;
         TLOAD(wide, x, {0, 0}); TLOAD(wider, x, {0, 0}); TLOAD(small, x, {0, 0});
         TSTORE(y, wide, {0, 0}); TSTORE(y, wider, {8, 0}); TSTORE(y, small, {16, 0});",
    );
    let text = refused(&kernel, &memories);
    assert!(text.contains("error[WSP1705]: 1568 bytes at once do not fit UB, which has 1024"), "{text}");
    assert!(text.contains("`wider`: 8 x 32 of f32, 1024 bytes"), "{text}");
    assert!(text.contains("`wide`: 8 x 16 of f32, 512 bytes"), "{text}");
    assert!(text.contains("make `wider` smaller by 544 bytes"), "{text}");
}

#[test]
fn a_capacity_that_a_launch_decides() {
    let kernel = Kernel::with(
        "PTO_PARAM(uint32_t, N, 8)",
        "VecTile<float, 2, N> t; TLOAD(t, x, {0, 0}); TSTORE(y, t, {0, 0});",
    );
    let text = told(&kernel.specialised().unwrap_err());
    assert!(text.contains("error[WSP1701]: the columns of `t` are not known at emission"), "{text}");
    assert!(text.contains("give what they depend on: `--set N=VALUE`"), "{text}");
    let param = kernel.module().param_named("N").unwrap();
    let mut params = vec![None; param.index() + 1];
    params[param.index()] = Some(wsp_ir::Const::Int(8));
    let known = Known { params: &params, elems: &[] };
    let function = kernel.module().function_named("k").unwrap();
    specialise(kernel.module(), function, known).unwrap();
}

#[test]
fn what_is_no_kernel() {
    let kernel = Kernel::new("VecTile<float, 2, 8> t; TLOAD(t, x, {0, 0}); TSTORE(y, t, {0, 0});");
    let generator = (0..).map(FuncId).find(|id| Some(*id) != kernel.module().function_named("k")).unwrap();
    for id in [generator, FuncId(99)] {
        let text = told(&specialise(kernel.module(), id, Known::default()).unwrap_err());
        assert!(text.contains("error[WSP1702]"), "{text}");
    }
}

#[test]
fn a_tile_that_may_be_read_before_it_is_written() {
    let kernel = Kernel::new(
        "VecTile<float, 2, 8> t;
         for (uint32_t i = 0; i < desc.a; i += 1) { TLOAD(t, x, {i, 0}); }
         TSTORE(y, t, {0, 0});",
    );
    let text = refused(&kernel, &core());
    assert!(text.contains("error[WSP1712]: `t` may be read before it is written"), "{text}");
}

#[test]
fn a_condition_of_the_kernel_on_another_tile_is_no_write() {
    let rows = "if (PTO_VALID_ROWS(k) > 0) { TADD(o, z, k); }";
    for body in [
        format!("TLOAD(k, x, {{desc.a * 64, 0}}); {rows} TSTORE(y, o, {{0, 0}});"),
        format!(
            "for (uint32_t i = 0; i < desc.a; i += 1) {{
                 TLOAD(k, x, {{i * 64, 0}}); {rows} TSTORE(y, o, {{i * 40, 0}});
             }}"
        ),
    ] {
        let tiles = "VecTile<float, 8, 16> k; VecTile<float, 8, 16> o; VecTile<float, 8, 16> z;";
        let kernel = Kernel::new(&format!("{tiles} TASSIGN(z, 1.0f); {body}"));
        let text = refused(&kernel, &core());
        assert!(text.contains("error[WSP1712]: `o` may be read before it is written"), "{text}");
    }
}

#[test]
fn tables_that_are_wrong() {
    let kernel = Kernel::new("VecTile<float, 2, 8> t; TLOAD(t, x, {0, 0}); TSTORE(y, t, {0, 0});");
    let wrong = |change: fn(&mut Memories), say: &str| {
        let mut memories = core();
        change(&mut memories);
        let text = refused(&kernel, &memories);
        assert!(text.contains("error[WSP1700]") && text.contains(say), "{text}");
    };
    wrong(|m| m.memories[0].alignment = 24, "`UB` has capacity 196608, granule 32, alignment 24");
    wrong(|m| m.computes[0].ops.push("unary sqroot".into()), "no operation is called `unary sqroot`");
    wrong(|m| m.moves[0].unit.0 = 99, "unit 99");
    wrong(|m| m.computes[0].then = Some(m.computes[0].unit), "names a unit or memory that does not exist");
    wrong(|m| m.memories = vec![m.memories[0].clone(); 300], "300 memories; at most 256 are possible");
    wrong(|m| m.scalar.0 = 77, "unit 77 for scalars does not exist");
}

/// With all events for one unit.
fn to_unit(program: &wsp_tile::TileProgram, to: u8) -> wsp_tile::TileProgram {
    with_syncs(program, |sync| match sync {
        Sync::Set(event) => Sync::Set(Event { to: UnitId(to), ..event }),
        Sync::Wait(event) => Sync::Wait(Event { to: UnitId(to), ..event }),
        other => other,
    })
}

#[test]
fn programs_of_another_table() {
    let kernel = Kernel::new("VecTile<float, 2, 8> t; TLOAD(t, x, {0, 0}); TSTORE(y, t, {0, 0});");
    let program = kernel.right(&core(), PingPong::Off);
    let wrong = |change: fn(&mut wsp_tile::TileProgram), say: &str| {
        let mut other = program.clone();
        change(&mut other);
        let stopped = kernel.interpreted(&other, &core(), [0; 4]).unwrap_err();
        let placed = place(other.clone(), &core(), PingPong::Off).unwrap_err();
        let ordered = wsp_tile::order(&other, &core()).unwrap_err();
        for found in [placed, ordered, wsp_tile::check(&other, &core()), vec![stopped]] {
            let text = told(&found);
            assert!(
                text.contains("error[WSP1700]: `k` does not fit the table `core`") && text.contains(say),
                "{text}"
            );
        }
    };
    wrong(|program| program.buffers[0].memory.0 = 9, "`t` is in memory 9");
    wrong(|program| program.buffers.clear(), "%0 has a tile in buffer 0 of 0");
    wrong(|program| *program = with_instructions(program, |i| i.unit.0 = 30), "unit 30 does not exist");
    wrong(|program| *program = with_instructions(program, |i| i.id += 1), "instruction 0 has the number 1");
    wrong(|program| *program = to_unit(program, 40), "unit 40 does not exist");
    wrong(|program| *program = to_unit(program, MTE2.0), "an event from unit 2 to itself");
    wrong(|program| *program = with_syncs(program, |_| Sync::Barrier(UnitId(99))), "unit 99 does not exist");
    wrong(|program| program.buffers[0].bytes = 100, "`t` has 100 bytes with rows of 32; the granule is 32");
    wrong(|program| program.buffers[0].row_bytes = 36, "with rows of 36; the granule is 32");
    let loops = |program: &mut wsp_tile::TileProgram| {
        let empty = || {
            let head = Head::While { cond: wsp_ir::Expr::u32(0, wsp_diag::Span::default()) };
            Node::Loop(Loop { id: LoopId(0), head, body: Vec::new(), span: wsp_diag::Span::default() })
        };
        program.body.extend([empty(), empty()]);
        program.loops = 1;
    };
    wrong(loops, "two loops have the number 0");
    wrong(
        |program| (program.loops, program.buffers[0].rotates) = (1, Some(LoopId(0))),
        "`t` has 1 addresses by loop Some(LoopId(0))",
    );
}

#[test]
fn units_of_transfers_are_those_of_the_table() {
    let mut memories = core();
    memories.moves.retain(|step| step.unit != MTE1);
    let kernel = Kernel::new(
        "LeftTile<float, 16, 16> l; RightTile<float, 16, 16> r; AccTile<float, 16, 16> acc;
         TLOAD(l, x, {0, 0}); TLOAD(r, x, {0, 0}); TMATMUL(acc, l, r); TSTORE(y, acc, {0, 0});",
    );
    let text = refused(&kernel, &memories);
    assert!(
        text.contains("error[WSP1704]: no unit of `core` moves a tile from global memory to L0A"),
        "{text}"
    );
}

#[test]
fn placement_keeps_to_alignment_and_uses_what_is_free_again() {
    let kernel = Kernel::new(
        "VecTile<float, 3, 5> a; VecTile<float, 3, 5> b; VecTile<float, 3, 5> c;
         TLOAD(a, x, {0, 0}); TADDS(b, a, 1.0f); TADDS(c, b, 1.0f); TSTORE(y, c, {0, 0});",
    );
    let placed = place(kernel.legal(&core()).unwrap(), &core(), PingPong::Off).unwrap();
    // Rows of 20 bytes take 32, so a tile takes 96; `c` lies where `a` was.
    assert_eq!(placed.used[UB.index()], 192);
    let at =
        |name: &str| placed.program.buffers.iter().find(|buffer| buffer.name == name).unwrap().at.clone();
    assert_eq!(at("a"), at("c"));
    assert!(placed.program.buffers.iter().all(|buffer| buffer.at.iter().all(|at| at % 32 == 0)));
}
