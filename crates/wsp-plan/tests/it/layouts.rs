//! Layouts on a grid: where elements lie, what fits together, and reads of sums whose parts tiles have.

use crate::support::random::Random;
use std::collections::BTreeSet;
use std::sync::Arc;
use wsp_core::policy::{Grid, LayoutDim, MeshAxis};
use wsp_core::{FuncId, Region, TensorId};
use wsp_diag::{Diagnostic, SourceMap, Span};
use wsp_ir::workload::SchedulePolicy;
use wsp_ir::{FuncKind, Layout};
use wsp_plan::layout::{AxisSet, Differ, LayoutAnalyzer, TensorLayout, Tensors, TileCoord, TileMap, join};
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{CompileOptions, LoweredPlan, lower};

const R: LayoutDim = LayoutDim::Replicate;
const X: LayoutDim = LayoutDim::Shard(MeshAxis::X);
const Y: LayoutDim = LayoutDim::Shard(MeshAxis::Y);

fn layout(shape: &[u32], dims: &[LayoutDim]) -> TensorLayout {
    let (shape, dims) = (shape.to_vec(), dims.to_vec());
    TensorLayout { name: "t".to_owned(), shape, dims, pending: AxisSet::default() }
}

/// A layout of up to four dimensions, each axis of the grid at most once.
fn random_layout(random: &mut Random) -> (TensorLayout, Grid) {
    let grid = Grid { x: 1 + random.below(5), y: 1 + random.below(5) };
    let rank = 1 + random.below(4) as usize;
    let shape: Vec<u32> = (0..rank).map(|_| random.below(6)).collect();
    let mut dims = vec![R; rank];
    for shard in [X, Y] {
        let at = random.below(rank as u32 + 1) as usize;
        if at < rank && dims[at] == R {
            dims[at] = shard;
        }
    }
    (layout(&shape, &dims), grid)
}

/// Every element of a shape.
fn elements(shape: &[u32]) -> Vec<Vec<u32>> {
    shape.iter().fold(vec![Vec::new()], |all, extent| {
        let longer = |one: &Vec<u32>, index| [one.as_slice(), &[index]].concat();
        all.iter().flat_map(|one| (0..*extent).map(move |index| longer(one, index))).collect()
    })
}

#[test]
fn every_element_has_one_tile_and_one_place_there_and_back() {
    let mut random = Random::new(23);
    for case in 0..10_000 {
        let (layout, grid) = random_layout(&mut random);
        let mut places = BTreeSet::new();
        let all = elements(&layout.shape);
        for global in &all {
            let (tile, local) = (layout.get_tile(global, grid), layout.get_local_idx(global, grid));
            assert!(tile.x < grid.x && tile.y < grid.y, "case {case}: {layout:?} on {grid:?}");
            assert_eq!(
                layout.get_global_idx(tile, &local, grid).as_ref(),
                Some(global),
                "case {case}: {layout:?}"
            );
            assert!(
                places.insert((tile.number(grid), local)),
                "case {case}: {layout:?} on {grid:?}: {global:?}"
            );
        }
        // Each place of each tile is that of one element; along axes that shard nothing tiles have the same.
        let shards = |axis| layout.dims.contains(&LayoutDim::Shard(axis));
        for number in 0..grid.tiles() {
            let tile = TileCoord::numbered(number, grid);
            let first = TileCoord {
                x: if shards(MeshAxis::X) { tile.x } else { 0 },
                y: if shards(MeshAxis::Y) { tile.y } else { 0 },
            };
            for local in elements(&layout.local_shape(tile, grid)) {
                let global = layout.get_global_idx(tile, &local, grid).expect("the tile has the place");
                assert_eq!(layout.get_tile(&global, grid), first, "case {case}: {layout:?}");
                assert_eq!(layout.get_local_idx(&global, grid), local, "case {case}: {layout:?}");
            }
        }
    }
}

#[test]
fn uneven_shards_end_with_a_short_tile_and_empty_ones() {
    let rows = layout(&[9], &[X]);
    let grid = Grid { x: 4, y: 1 };
    let lengths: Vec<u32> = (0..4).map(|x| rows.local_shape(TileCoord { x, y: 0 }, grid)[0]).collect();
    assert_eq!(lengths, [3, 3, 3, 0]);
    assert_eq!(rows.get_tile(&[8], grid), TileCoord { x: 2, y: 0 });
    assert_eq!(rows.get_global_idx(TileCoord { x: 3, y: 0 }, &[0], grid), None);
}

#[test]
fn what_is_replicated_fits_everything_and_what_is_sharded_itself() {
    assert_eq!([join(R, R), join(R, X), join(Y, R), join(X, X)], [Ok(R), Ok(X), Ok(Y), Ok(X)]);
    assert_eq!(join(X, Y), Err(Differ(MeshAxis::X, MeshAxis::Y)));
}

#[test]
fn a_relayout_is_named_by_what_it_moves() {
    let of = |dims: &[LayoutDim]| layout(&[8, 8], dims);
    let moves = |from: &TensorLayout, to: &TensorLayout| {
        let moves = from.moves(to).into_iter();
        moves.map(|(word, axis)| format!("{word} {}", axis.word())).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(moves(&of(&[R, X]), &of(&[R, R])), "all-gather x");
    assert_eq!(moves(&of(&[R, R]), &of(&[Y, R])), "slice y");
    assert_eq!(moves(&of(&[X, Y]), &of(&[R, X])), "all-to-all x, all-gather y");
    assert_eq!(moves(&of(&[X, R]), &of(&[X, R])), "");
    let pending = TensorLayout { pending: AxisSet::of(MeshAxis::X), ..of(&[Y, R]) };
    assert_eq!(moves(&pending, &of(&[Y, R])), "all-reduce x");
    assert_eq!(moves(&pending, &of(&[Y, X])), "reduce-scatter x");
}

/// The tensors of a plan, all of whose extents are 16.
struct Square<'a>(&'a LoweredPlan);

impl Tensors for Square<'_> {
    fn find(&self, name: &str) -> Option<(TensorId, Vec<Option<u32>>)> {
        let at = self.0.module.tensors.iter().position(|tensor| tensor.name == name)?;
        Some((TensorId(at as u32), vec![Some(16); 2]))
    }
}

/// A program whose kernels run one after the other, each over all of the tensors.
pub(crate) fn program(layouts: &str, kernels: &[&str]) -> String {
    let mut text = String::new();
    for tensor in ["a", "b", "n", "h", "out"] {
        text += &format!("PTO_SHAPE({tensor}, 16, 16)\n");
    }
    text += &format!("PTO_SCHEDULE(Sharded) {{ PTO_SPATIAL_MAP(4, 2) {layouts} }}\n");
    let mut stages = String::new();
    for (at, body) in kernels.iter().enumerate() {
        stages += &format!(" PTO_STAGE(s{at}, S{at})");
        text += &format!(
            "PTO_SPACE(S{at}) {{ PTO_AXIS(i{at}, 0, 1) }}\nstruct D{at} {{ uint32_t i; }};
             PTO_DESCRIPTOR_GEN(S{at}) {{ PTO_APPLY_SCHEDULE(Sharded);
                PTO_SCHEDULED_FOR(i) {{ PTO_EMIT_DESCRIPTOR(D{at}{{ .i = i }}); }} }}
             PTO_KERNEL_IMPL(k{at}) {{ auto desc = PTO_GET_DESCRIPTOR<D{at}>();
                VecTile<float, 16, 16> ta; VecTile<float, 16, 16> tb; VecTile<float, 16, 16> tn;
                VecTile<float, 16, 16> p; VecTile<float, 16, 16> q; VecTile<float, 16, 16> r;
                VecTile<float, 16, 1> col; VecTile<float, 1, 16> row;
                {body} }}\n"
        );
    }
    let names = ["a", "b", "n", "h", "out"];
    let params: Vec<String> = names.iter().map(|name| format!("Tensor<float> {name}")).collect();
    let bound: Vec<String> = names.iter().map(|name| format!(".{name} = {name}")).collect();
    text + &format!(
        "PTO_GRAPH(All) {{{stages} }}\nvoid launch({}) {{ PTO_LAUNCH(All, {{ {} }}); }}\n",
        params.join(", "),
        bound.join(", ")
    )
}

/// What is found in a program, each of whose kernels reaches all of every tensor.
pub(crate) fn analysed(text: &str) -> Result<(), Diagnostic> {
    analysed_by(text, 1, &|_, _| (0, 16))
}

/// What is found in a program with so many tasks of each kernel; `reached` says which indices of both dimensions of a tensor a task reaches.
pub(crate) fn analysed_by(
    text: &str,
    tasks: u32,
    reached: &dyn Fn(&str, u32) -> (u32, u32),
) -> Result<(), Diagnostic> {
    analysed_with(text, tasks, reached, &|_| {})
}

/// What is found in a program whose schedule is changed, by the compiler or where layouts are followed.
pub(crate) fn analysed_with(
    text: &str,
    tasks: u32,
    reached: &dyn Fn(&str, u32) -> (u32, u32),
    change: &dyn Fn(&mut SchedulePolicy),
) -> Result<(), Diagnostic> {
    let (module, found) = wsp_lang::compile("test.pto", text, &mut SourceMap::default());
    let wrong = |found: Vec<Diagnostic>| found.into_iter().next().expect("something is wrong");
    let module = module.ok_or_else(|| wrong(found))?;
    let mut plan = lower(&module, &CompileOptions::default()).map_err(wrong)?;
    change(&mut plan.policy);
    let map = TileMap::new(&plan.policy, &Square(&plan)).expect("layouts fit").expect("there is a grid");
    let mut analyzer = LayoutAnalyzer::new(Arc::new(map), true);
    for (at, func) in plan.module.functions.iter().enumerate() {
        for task in (0..tasks).filter(|_| matches!(func.kind, FuncKind::Kernel { .. })) {
            let regions = (0..).zip(&plan.module.tensors).map(|(tensor, of)| {
                let (lo, hi) = reached(&of.name, task);
                Region::new(TensorId(tensor), &[lo, lo], &[hi, hi]).expect("two dimensions")
            });
            let all: Vec<Region> = regions.collect();
            analyzer.analyze(&plan.module, FuncId(at as u32), &all, &all)?;
        }
    }
    analyzer.finish(&plan.module).map(|_| ())
}

/// `a` in columns and `b` in rows along `x`: sums along both are split.
pub(crate) const SPLIT: &str =
    "PTO_LAYOUT(a, PTO_REPLICATE, PTO_SHARD(x)) PTO_LAYOUT(b, PTO_SHARD(x), PTO_REPLICATE)";

/// Loads, and a sum `p` along a dimension that [`SPLIT`] shards.
pub(crate) const SUMS: &[&str] = &[
    "TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(p, ta, tb);",
    "TLOAD(ta, a, {0, 0}); TLOAD(tb, a, {0, 0}); TMATMUL(p, ta, PTO_TRANSPOSE(tb));",
    "TLOAD(ta, a, {0, 0}); TLOAD(tn, n, {0, 0}); TMATMUL(p, ta, tn);",
    "TLOAD(ta, a, {0, 0}); TROWSUM(col, ta); TASSIGN(p, 0.0f); TROWEXPANDADD(p, p, col);",
    "TLOAD(tb, b, {0, 0}); TCOLSUM(row, tb); TASSIGN(p, 0.0f); TCOLEXPANDADD(p, p, row);",
    "for (uint32_t i = 0; i < 2; ++i) { TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0});
        if (i == 0) { TMATMUL(p, ta, tb); } else { TMATMUL_ACC(p, ta, tb); } }",
];

/// What leaves parts of a sum parts of a sum.
const LINKS: &[&str] = &[
    "",
    "TNEG(p, p);",
    "TMULS(p, p, 2.0f);",
    "TADD(q, p, p); TMOV(p, q);",
    "TTRANS(q, p); TMOV(p, q);",
    "TLOAD(tn, n, {0, 0}); TMUL(p, p, tn); TSUB(p, p, p);",
];

/// What reads the sum.
const READS: &[&str] = &[
    "TEXP(r, p);",
    "TABS(r, p);",
    "TADDS(r, p, 1.0f);",
    "TLOAD(tn, n, {0, 0}); TADD(r, p, tn);",
    "TLOAD(tn, n, {0, 0}); TSUB(r, tn, p);",
    "TMUL(r, p, p);",
    "TLOAD(tn, n, {0, 0}); TDIV(r, tn, p);",
    "TLOAD(tn, n, {0, 0}); TMAX(r, tn, p);",
    "TLOAD(tn, n, {0, 0}); TMATMUL(r, p, tn);",
    "TLOAD(tn, n, {0, 0}); TMATMUL(r, tn, p);",
    "TROWMAX(col, p); TASSIGN(r, 0.0f); TROWEXPANDADD(r, r, col);",
    "TCUMSUM(r, p);",
    "TCLAMP(r, p, 0.0f, 1.0f);",
    "TMOV(r, p); TMASK(r, 3, 0.0f);",
    "TLOAD(tn, n, {0, 0}); TSEL(r, tn, p, tn);",
];

#[test]
fn every_planted_read_of_a_pending_sum_is_refused_and_live_ones_are_not() {
    let (mut planted, mut live) = (0, 0);
    for (at, sum) in SUMS.iter().enumerate() {
        for (read_at, read) in READS.iter().enumerate() {
            let link = LINKS[(at + read_at) % LINKS.len()];
            // In one kernel, and by way of a tensor.
            let one = [format!("{sum} {link} {read} TSTORE(out, r, {{0, 0}});")];
            let two = [
                format!("{sum} {link} TSTORE(h, p, {{0, 0}});"),
                format!("TLOAD(p, h, {{0, 0}}); {read} TSTORE(out, r, {{0, 0}});"),
            ];
            let texts = |kernels: &[String]| {
                let kernels: Vec<&str> = kernels.iter().map(String::as_str).collect();
                (program(SPLIT, &kernels), program("", &kernels), kernels.len())
            };
            for (split, whole, kernels) in [texts(&one), texts(&two)] {
                let fault = analysed(&split).expect_err(&split);
                assert_eq!(fault.code.0, 430, "{fault:#?}\n{split}");
                assert!(fault.help[0].starts_with("write `PTO_RELAYOUT("), "{fault:#?}");
                assert!(fault.primary.is_some(), "{fault:#?}");
                planted += 1;
                analysed(&whole).unwrap_or_else(|fault| panic!("{fault:#?}\n{whole}"));
                live += 1;
                if kernels == 2 {
                    let added = format!("{SPLIT} PTO_RELAYOUT(h, PTO_REPLICATE, PTO_REPLICATE)");
                    let added = split.replace(SPLIT, &added);
                    analysed(&added).unwrap_or_else(|fault| panic!("{fault:#?}\n{added}"));
                    live += 1;
                }
            }
        }
    }
    assert!(planted >= 50 && live >= planted, "{planted} planted, {live} live");
}

#[test]
fn sums_of_parts_may_be_left_and_added_to_each_other() {
    for link in LINKS {
        let added = format!("{SPLIT} PTO_RELAYOUT(h, PTO_REPLICATE, PTO_REPLICATE)");
        let text = program(&added, &[&format!("{} {link} TSTORE(h, p, {{0, 0}});", SUMS[0])]);
        analysed(&text).unwrap_or_else(|fault| panic!("{fault:#?}\n{text}"));
        // Without it the caller of the launch would read them.
        let fault = analysed(&text.replace(&added, SPLIT)).expect_err(&text);
        assert_eq!((fault.code.0, fault.message.contains("`h` holds pending sums")), (430, true));
    }
}

#[test]
fn what_a_loop_adds_up_over_tiles_is_pending_and_what_it_does_row_by_row_is_not() {
    let rows = "PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE)";
    let one = "TLOAD(row, a, {i, 0});";
    let inner = "for (uint32_t j = 0; j < 2; ++j) { TADDS(row, row, 1.0f); }";
    for (body, is_pending) in [
        (format!("{one} TEXP(row, row); TSTORE(out, row, {{i, 0}});"), false),
        (format!("{one} {inner} TSTORE(out, row, {{i, 0}});"), false),
        (format!("{one} TADD(sum, sum, row); TSTORE(out, sum, {{0, 0}});"), true),
        (format!("{one} TADD(sum, sum, row); TSTORE(out, sum, {{i, 0}});"), true),
    ] {
        let text = format!(
            "VecTile<float, 1, 16> sum; TASSIGN(sum, 0.0f); for (uint32_t i = 0; i < 16; ++i) {{ {body} }}"
        );
        let stored = if is_pending { "" } else { " PTO_LAYOUT(out, PTO_SHARD(x), PTO_REPLICATE)" };
        let placed = program(&format!("{rows}{stored}"), &[&text]);
        let found = analysed(&placed).err().map(|fault| fault.code.0);
        assert_eq!(found, is_pending.then_some(430), "{placed}");
        if !is_pending {
            // Where every tile has a copy, a row of one of them is not stored.
            let fault = analysed(&program(rows, &[&text])).expect_err(&text);
            assert_eq!(fault.code.0, 431, "{fault:#?}");
            assert_eq!(
                fault.help,
                [
                    "write `PTO_RELAYOUT(a, PTO_REPLICATE, PTO_REPLICATE)` in the schedule",
                    "or `PTO_LAYOUT(out, PTO_SHARD(x), PTO_REPLICATE)` in the schedule"
                ]
            );
        }
    }
}

#[test]
fn what_does_not_fit_names_the_relayout() {
    let rows = "PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE) PTO_LAYOUT(n, PTO_SHARD(y), PTO_REPLICATE)";
    let both = "TLOAD(ta, a, {0, 0}); TLOAD(tn, n, {0, 0});";
    let cases = [
        // Element by element, and a product one of whose operands is in the way.
        (
            rows,
            format!("{both} TADD(r, ta, tn);"),
            "different axes",
            "PTO_RELAYOUT(n, PTO_REPLICATE, PTO_REPLICATE)",
        ),
        (
            "PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE) PTO_LAYOUT(b, PTO_REPLICATE, PTO_SHARD(x))",
            "TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(r, ta, tb);".to_owned(),
            "would both be sharded over `x`",
            "PTO_RELAYOUT(b, PTO_REPLICATE, PTO_REPLICATE)",
        ),
        (
            rows,
            format!("{both} TTRANS(q, ta); TMOV(r, q);"),
            "the columns that are stored",
            "PTO_RELAYOUT(a, ",
        ),
        (
            "PTO_LAYOUT(a, PTO_REPLICATE, PTO_SHARD(y))",
            "TLOAD(ta, a, {0, 0}); TCUMSUM(r, ta);".to_owned(),
            "needs all columns",
            "PTO_RELAYOUT(a, PTO_REPLICATE, PTO_REPLICATE)",
        ),
    ];
    for (layouts, body, message, help) in cases {
        let layouts = format!("{layouts} PTO_LAYOUT(out, PTO_REPLICATE, PTO_REPLICATE)");
        let text = program(&layouts, &[&format!("{body} TSTORE(out, r, {{0, 0}});")]);
        let fault = analysed(&text).expect_err(&text);
        assert_eq!(fault.code.0, 431, "{fault:#?}");
        assert!(fault.message.contains(message), "{fault:#?}");
        assert!(fault.help[0].contains(help), "{fault:#?}");
    }
}

#[test]
fn stages_have_one_grid_and_a_tensor_one_layout() {
    let copy = "TLOAD(ta, a, {0, 0}); TSTORE(out, ta, {0, 0});";
    let codes = |other: &str| {
        let text = program(SPLIT, &[copy, copy]);
        let (first, second) = text.split_at(text.rfind("PTO_APPLY_SCHEDULE(Sharded)").expect("two stages"));
        let second = second.replace("PTO_APPLY_SCHEDULE(Sharded)", "PTO_APPLY_SCHEDULE(Other)");
        let text = format!("{first}{second}\nPTO_SCHEDULE(Other) {{ {other} }}");
        let (module, found) = wsp_lang::compile("test.pto", &text, &mut SourceMap::default());
        let lowered = lower(&module.unwrap_or_else(|| panic!("{found:#?}")), &CompileOptions::default());
        lowered.map_or_else(|found| found.iter().map(|fault| fault.code.0).collect(), |_| Vec::new())
    };
    assert_eq!(codes("PTO_SPATIAL_MAP(2, 2)"), [433]);
    assert_eq!(codes("PTO_SPATIAL_MAP(4, 2) PTO_LAYOUT(a, PTO_SHARD(y), PTO_REPLICATE)"), [433]);
    let more = format!("PTO_SPATIAL_MAP(4, 2) {SPLIT} PTO_RELAYOUT(a, PTO_SHARD(y), PTO_REPLICATE)");
    assert!(codes(&more).is_empty() && codes("").is_empty());
}

/// A tensor whose first extent is known only where tasks run.
struct Ragged;

impl Tensors for Ragged {
    fn find(&self, _: &str) -> Option<(TensorId, Vec<Option<u32>>)> {
        Some((TensorId(0), vec![None, Some(16)]))
    }
}

#[test]
fn what_has_no_extent_is_not_sharded() {
    let policy = |dims: &[LayoutDim]| SchedulePolicy {
        grid: Some(Grid { x: 2, y: 2 }),
        layouts: vec![Layout::new("t", dims, Span::default())],
        ..SchedulePolicy::default()
    };
    let found = TileMap::new(&policy(&[X, R]), &Ragged).expect_err("the first has none");
    assert_eq!(found.iter().map(|fault| fault.code.0).collect::<Vec<_>>(), [432]);
    assert!(TileMap::new(&policy(&[R, X]), &Ragged).is_ok());
}

#[test]
fn layouts_are_of_tensors_of_the_used_file_with_their_dimensions() {
    let kernels = "PTO_SHAPE(rows, 8, 8) PTO_TENSOR(inner, float, 8, 8) struct D { uint32_t i; };
        PTO_KERNEL_IMPL(k) { auto d = PTO_GET_DESCRIPTOR<D>(); VecTile<float, 1, 8> t;
            TLOAD(t, rows, {d.i, 0}); TSTORE(rows, t, {d.i, 0}); }";
    let (library, found) = wsp_lang::compile("k.pto", kernels, &mut SourceMap::default());
    let library = library.unwrap_or_else(|| panic!("{found:#?}"));
    let found = |statement: &str| {
        let text = format!(
            "use \"k.pto\"; workload main {{ parallel for i in 0..8 {{ k(i = i); }} }}
             schedule {{ spatial_map((2, 2)); {statement} }}"
        );
        let (module, found) = wsp_ir::workload::text::parse("test.wsp", &text, &mut SourceMap::default());
        let module = module.unwrap_or_else(|| panic!("{found:#?}"));
        WorkloadPlan::new(module, Some(&library), &CompileOptions::default()).err().map(|found| found.0)
    };
    assert!(found("layout(rows, [shard(x), replicate]);").is_none());
    // Nothing but tasks reads a tensor between kernels.
    assert!(found("layout(inner, [shard(x), replicate], pending(y));").is_none());
    let read = found("layout(rows, [shard(x), replicate], pending(y));").expect("its caller reads it");
    assert_eq!((read.len(), read[0].code.0), (1, 430), "{read:#?}");
    for (statement, help) in [
        ("layout(row, [shard(x), replicate]);", "did you mean `rows`?"),
        ("relayout(rows, [replicate]);", "give 2: `shard(x)`, `shard(y)` or `replicate` for each"),
    ] {
        let found = found(statement).expect("the file has no such tensor");
        assert_eq!((found.len(), found[0].code.0, found[0].help[0].as_str()), (1, 793, help));
    }
}
