//! For each code a kernel in which it alone is found, where the kernel as it was has none.

use crate::batch::emitted;
use crate::bench::{Kernel, told};
use crate::findings::{TASKS, Tasks, codes};
use crate::mixed::GATED;
use crate::mutate::{with_instructions, with_syncs, without};
use std::collections::BTreeSet;
use wsp_ascend::kernels::{Chip, KernelSource, emit_kernel, memories};
use wsp_core::FuncId;
use wsp_ir::{FuncKind, Stmt, StmtKind, TileOp};
use wsp_tile::{Event, EventId, Extent, Memories, Op, Sync, TileProgram, check};

/// What the checker of tile programs says of a kernel that is changed after it was made right.
fn checked(
    body: &str,
    change: impl Fn(&TileProgram) -> TileProgram,
    table: impl Fn(&mut Memories),
) -> Vec<u16> {
    let made = emitted(&Kernel::new(body), Chip::A2).unwrap_or_else(|found| panic!("{}", told(&found)));
    let KernelSource { program, tasks, .. } = made;
    assert!(tasks.is_empty());
    let mut memories = memories(Chip::A2);
    assert_eq!(check(&program, &memories), []);
    table(&mut memories);
    codes(&check(&change(&program), &memories))
}

fn refused(kernel: &Kernel) -> Vec<u16> {
    codes(&emitted(kernel, Chip::A2).unwrap_err())
}

fn as_it_is(program: &TileProgram) -> TileProgram {
    program.clone()
}

const RIGHT: &str = "VecTile<float, 8, 32> t; TLOAD(t, x, {0, 0}); TEXP(t, t); TSTORE(y, t, {0, 0});";

/// For each code of tile programs and of kernels, what alone is found in a kernel with one thing wrong.
fn faults() -> Vec<(u16, Vec<u16>)> {
    let same = |_: &mut Memories| {};
    let with_tile = |change: fn(&mut wsp_tile::Tile)| {
        move |program: &TileProgram| {
            with_instructions(program, |instruction| {
                if let Op::Tile(TileOp::Unary { dst, src, .. }) = &mut instruction.op {
                    [dst, src].into_iter().for_each(change);
                }
            })
        }
    };
    let high = |event: Event| Event { id: EventId::One(7), ..event };
    let numbered = |program: &TileProgram| {
        with_syncs(program, |sync| match sync {
            Sync::Set(event) => Sync::Set(high(event)),
            Sync::Wait(event) => Sync::Wait(high(event)),
            other => other,
        })
    };
    let moved = |program: &TileProgram| {
        let mut program = program.clone();
        program.buffers.iter_mut().flat_map(|buffer| &mut buffer.at).for_each(|at| *at += 16);
        program
    };
    let unordered =
        |program: &TileProgram| without(program, |_, sync| matches!(sync, Sync::Set(_) | Sync::Wait(_)));
    let sized = Kernel::with("PTO_PARAM(uint32_t, N, 8)", &RIGHT.replace("8, 32", "8, N"));
    let other = Kernel::new(RIGHT);
    let generator = (0..other.module().functions.len() as u32)
        .map(FuncId)
        .find(|id| matches!(other.module().functions[id.index()].kind, FuncKind::Generator { .. }));
    let no_kernel = emit_kernel(other.module(), generator.unwrap(), other.known(), Chip::A2).unwrap_err();
    let product = "LeftTile<float, 16, 16> a; RightTile<float, 16, 16> b; AccTile<float, 16, 16> c;
         TLOAD(a, x, {0, 0}); TLOAD(b, x, {0, 0}); TMATMUL(c, a, b); TSTORE(y, c, {0, 0});";
    let handed = "VecTile<float, 16, 16> t; uint32_t rows = (uint32_t)PTO_LOAD_SCALAR(x, {0, 0});
         TLOAD(t, x, {0, 0}, rows); TEXP(t, t); TSTORE(y, t, {0, 0}); TLOAD(a, x, {0, 0}, rows); TMATMUL(c, a, b); TSTORE(y, c, {0, 0});";
    let numbers: Vec<String> = (0..17).map(|at| format!("PTO_PARAM(uint32_t, N{at}, 1)")).collect();
    let sum = (0..17).map(|at| format!("N{at}")).collect::<Vec<_>>().join(" + ");
    let summed = RIGHT.replace("TEXP(t, t)", &format!("TADDS(t, t, (float)({sum}))"));
    let barriers = emitted(&Kernel::new(GATED), Chip::A2).unwrap_or_else(|found| panic!("{}", told(&found)));
    let twice = RIGHT.replace("TEXP(t, t)", "TADDS(t, t, (float)(N + N_))");
    let late = product.replace("TLOAD(a, x, {0, 0});", "if (desc.a > 0) { TLOAD(a, x, {0, 0}); }");
    let whole = "VecTile<int32_t, 8, 32> n; TASSIGN(n, 1); TADD(n, n, n); VecTile<float, 8, 32> t; TCVT(t, n); TSTORE(y, t, {0, 0});";
    let random = "VecTile<float, 8, 32> t; TRANDOM(t, 1, 0, 32); TSTORE(y, t, {0, 0});";
    let none = RIGHT.replacen("{0, 0});", "{0, 0}, 0);", 1);
    let short = "VecTile<float, 1, 8> t; TLOAD(t, x, {0, 0}); TSTORE(y, t, {desc.first, 0});";
    let no_unary = |table: &mut Memories| {
        table.computes.iter_mut().for_each(|rule| rule.ops.retain(|op| op != "unary"));
    };
    let no_store = |table: &mut Memories| table.moves.retain(|step| step.to != wsp_tile::Side::Global);
    let of = |body: &str| refused(&Kernel::new(body));
    vec![
        (1701, refused(&sized)),
        (1702, codes(&no_kernel)),
        (1703, checked(RIGHT, as_it_is, no_unary)),
        (1704, checked(RIGHT, as_it_is, no_store)),
        (1705, of(&RIGHT.replace("8, 32", "4096, 32"))),
        (1706, no_fill()),
        (1707, of_generators()),
        (1710, checked(RIGHT, unordered, same)),
        (1711, checked(RIGHT, numbered, same)),
        (1712, of(&late)),
        (1713, checked(RIGHT, with_tile(|tile| tile.rows = Extent::Known(9)), same)),
        (1714, checked(RIGHT, with_tile(|tile| tile.rows = Extent::Known(0)), same)),
        (1716, codes(&barriers.notes)),
        (1717, checked(RIGHT, moved, same)),
        (1720, of(random)),
        (1721, of(whole)),
        (1722, of(&format!("{product} {handed}"))),
        (1723, codes(&Tasks { body: RIGHT, x: "Tensor", ..TASKS }.found(&[]))),
        (1724, refused(&Kernel::with(&numbers.join("\n"), &summed))),
        (1726, codes(&Tasks { shapes: ["64, 32", "64, 8"], body: short, ..TASKS }.found(&[]))),
        (1728, codes(&several(product).notes)),
        (1729, refused(&Kernel::with("PTO_PARAM(uint32_t, N, 1)\nPTO_PARAM(uint32_t, N_, 2)", &twice))),
        (1727, codes(&Tasks { body: &none, ..TASKS }.found(&[]))),
        (
            1730,
            of(&RIGHT
                .replace("TEXP(t, t)", "VecTile<float, 8, 32> u; TLOAD(u, x, {0, 0}, 8, 31); TADD(t, t, u)")),
        ),
    ]
}

/// A kernel of a5 whose vector core needs what the cube core stores.
fn several(product: &str) -> KernelSource {
    let body = format!(
        "{product} VecTile<float, 16, 16> t; TLOAD(t, y, {{0, 0}}); TEXP(t, t); TSTORE(y, t, {{16, 0}});"
    );
    emitted(&Kernel::new(&body), Chip::A5).unwrap_or_else(|found| panic!("{}", told(&found)))
}

/// A sum of what may be nothing, on a core that fills no tile.
fn no_fill() -> Vec<u16> {
    let mut table = memories(Chip::A2);
    table.computes.iter_mut().for_each(|rule| rule.ops.retain(|op| op != "fill"));
    let body = "VecTile<float, 8, 32> t; VecTile<float, 8, 1> s;
         TLOAD(t, x, {0, 0}, 8, COUNT); TROWSUM(s, t); TSTORE(y, s, {0, 0});";
    let legal = |count: &str| Kernel::new(&body.replace("COUNT", count)).legal(&table);
    assert!(legal("32").is_ok());
    codes(&legal("desc.a").unwrap_err())
}

/// A statement of generators in a kernel, which no text has.
fn of_generators() -> Vec<u16> {
    let kernel = Kernel::new(RIGHT);
    let mut function = kernel.specialised().unwrap();
    let span = function.span;
    function.body.push(Stmt { kind: StmtKind::Fence, span });
    let found = wsp_tile::legalise(kernel.module(), &function, kernel.known(), &memories(Chip::A2));
    codes(&found.unwrap_err())
}

/// Codes that no kernel has: a table of a target that is wrong, what ends a run of a tile program, files without kernels, and values that a file does not take.
pub(crate) const NOT_OF_KERNELS: [u16; 5] = [1700, 1715, 1725, 1731, 1732];

#[test]
fn each_finding_is_alone_in_a_kernel_with_one_thing_wrong() {
    let right = emitted(&Kernel::new(RIGHT), Chip::A2).unwrap_or_else(|found| panic!("{}", told(&found)));
    assert_eq!(right.notes, []);
    let faults = faults();
    for (code, found) in &faults {
        assert_eq!(found, &[*code], "WSP{code}");
    }
    let mut have: BTreeSet<u16> = faults.into_iter().map(|(code, _)| code).collect();
    have.extend(NOT_OF_KERNELS);
    let all = wsp_tile::CODES.iter().chain(wsp_ascend::CODES).flat_map(|group| group.iter());
    assert_eq!(have, all.map(|info| info.code.0).collect());
}
