//! Expected accesses are those that come before in elaboration order.

use crate::workload_support::random::{Rng, random_module};
use crate::workload_support::{bound, module, schedule};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write;
use wsp_core::ptow::DispatchConfig;
use wsp_core::ptow::dispatch::mix;
use wsp_core::ptow::interp::{AccessMode, Host, Interpreter, Mode, Ordered, Progress, Task, workspace_words};
use wsp_core::ptow::prefix::Prefixes;
use wsp_core::{Region, SlotId, TensorId};
use wsp_ir::workload::WorkloadModule;
use wsp_ordered::OrderedMap;
use wsp_plan::expected::{Expected, Need, Tracking, Why};
use wsp_plan::ptow::{LaunchData, lower};
use wsp_plan::workload::{Bindings, TaskRecord, TaskSink, bind, expand};

/// What a task is told to be.
struct Told {
    site: u32,
    vars: Vec<i64>,
    regions: Vec<Region>,
    modes: Vec<AccessMode>,
}

/// The value of any slot when so many tasks were generated before.
fn slot_value(ordinal: u64) -> i64 {
    (mix(ordinal) % 3) as i64
}

/// Keeps the tasks of a program.
#[derive(Default)]
struct Keep(Vec<Told>);

impl Host for Keep {
    type Stop = Infallible;

    fn task(&mut self, task: &Task<'_>) -> Result<(), Infallible> {
        let (vars, regions, modes) = (task.vars.to_vec(), task.regions.to_vec(), task.modes.to_vec());
        self.0.push(Told { site: task.site, vars, regions, modes });
        Ok(())
    }

    fn ordered(&mut self, _: Ordered, _: u64) -> Result<(), Infallible> {
        Ok(())
    }

    fn slot(&mut self, _: SlotId, ordinal: u64) -> Option<i64> {
        Some(slot_value(ordinal))
    }

    fn plan(&mut self, _: u16, _: u64) -> Result<Option<u64>, Infallible> {
        Ok(None)
    }
}

/// Keeps the regions of the tasks that the host's expansion generates.
#[derive(Default)]
struct Regions(Vec<Vec<Region>>);

impl TaskSink for Regions {
    type Error = Infallible;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), Infallible> {
        self.0.push(task.regions.to_vec());
        Ok(())
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, Infallible> {
        Ok(slot_value(self.0.len() as u64))
    }
}

/// Accesses of a region so far.
#[derive(Clone, Copy, Default, Debug)]
struct Seen {
    tile: u32,
    all: u64,
    writes: u64,
}

/// What came of comparing.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    counted: usize,
    mapped: usize,
    needs: u64,
}

/// The accesses of counted tensors, counted one by one, against what is expected of each task.
fn compare(module: &WorkloadModule, bindings: &Bindings) -> (Expected, Tally) {
    let lowered = lower(module, &schedule(module)).expect("it can be lowered");
    let data = LaunchData::new(&lowered, module, bindings);
    let (verified, launch) = (lowered.program.verified(), data.as_launch());
    let expected = Expected::analyse(&verified, &launch);
    let mut regions = Regions::default();
    // A fault ends both ways at the same task.
    let _ = expand(module, bindings, &schedule(module), &mut regions);
    let mut workspace = vec![0; workspace_words(&verified)];
    let config = DispatchConfig::round_robin(1, 0);
    let mut interpreter =
        Interpreter::new(verified, launch, &config, Prefixes::none(), &mut workspace, Mode::Naive)
            .unwrap_or_else(|refusal| panic!("{refusal}"));
    let mut keep = Keep::default();
    while let Ok(Progress::Yielded) = interpreter.run(&mut keep, u32::MAX, u32::MAX) {}
    assert_eq!(keep.0.len(), regions.0.len());
    let mut tally = Tally::default();
    for tensor in 0..module.tensors.len() as u32 {
        match expected.tracking(TensorId(tensor)) {
            Tracking::Counted => tally.counted += 1,
            Tracking::Mapped(mapped) => {
                tally.mapped += 1;
                assert!(!mapped.to_string().is_empty());
            }
            Tracking::ReadOnly => {
                let reads = |(region, mode): (&Region, &AccessMode)| {
                    region.tensor.0 != tensor || *mode == AccessMode::In
                };
                assert!(keep.0.iter().all(|task| task.regions.iter().zip(&task.modes).all(reads)));
            }
        }
    }
    assert_eq!(expected.is_complete(), tally.mapped == 0);
    let mut seen: BTreeMap<(u32, [u32; 6], [u32; 6]), Seen> = BTreeMap::new();
    for (task, regions) in keep.0.iter().zip(&regions.0) {
        assert_eq!(&task.regions, regions);
        let mut needs = Vec::new();
        expected.needs(task.site, &task.vars, &mut needs);
        tally.needs += needs.len() as u64;
        check(&expected, task, &needs, &mut seen);
    }
    disjoint(&seen, expected.tiles());
    (expected, tally)
}

/// Compares the needs of one task, then adds its accesses.
fn check(
    expected: &Expected,
    task: &Told,
    needs: &[Need],
    seen: &mut BTreeMap<(u32, [u32; 6], [u32; 6]), Seen>,
) {
    let is_counted = |region: &Region| expected.tracking(region.tensor) == Tracking::Counted;
    let counted: Vec<(&Region, AccessMode)> = task
        .regions
        .iter()
        .zip(task.modes.iter().copied())
        .filter(|(region, _)| is_counted(region))
        .collect();
    assert_eq!(needs.len(), counted.len(), "word {}", task.site);
    let key = |region: &Region| (region.tensor.0, region.lo, region.hi);
    for ((region, mode), need) in counted.iter().zip(needs) {
        let tile = seen.entry(key(region)).or_insert(Seen { tile: need.tile, ..Seen::default() });
        let so_far = Need { tile: tile.tile, mode: *mode, all_before: tile.all, writes_before: tile.writes };
        assert_eq!(*need, so_far, "word {} {:?} {region:?}", task.site, task.vars);
        let reached = if *mode == AccessMode::In { tile.writes } else { tile.all };
        assert_eq!(need.reached(), reached);
    }
    for (region, mode) in counted {
        let tile = seen.get_mut(&key(region)).expect("it is there");
        tile.all += 1;
        tile.writes += u64::from(mode != AccessMode::In);
    }
}

/// Whether different regions are different tiles and do not overlap.
fn disjoint(seen: &BTreeMap<(u32, [u32; 6], [u32; 6]), Seen>, tiles: u32) {
    let mut numbers: Vec<u32> = seen.values().map(|seen| seen.tile).collect();
    numbers.sort_unstable();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "two regions are one tile");
    assert!(numbers.last().is_none_or(|last| *last < tiles));
    let region =
        |(tensor, lo, hi): &(u32, [u32; 6], [u32; 6])| Region { tensor: TensorId(*tensor), lo: *lo, hi: *hi };
    let regions: Vec<Region> = seen.keys().map(region).take(300).collect();
    for (at, one) in regions.iter().enumerate() {
        assert!(regions[..at].iter().all(|other| !one.overlaps(other)), "{one:?}");
    }
}

fn of_text(source: &str, set: &[(&str, i64)]) -> (Expected, Tally) {
    let module = module(source);
    compare(&module, &bound(&module, set))
}

#[expect(clippy::disallowed_methods, reason = "a test reads the examples")]
fn example(name: &str, set: &[(&str, i64)]) -> (Expected, Tally) {
    let path = format!("{}/../../examples/{name}.wsp", env!("CARGO_MANIFEST_DIR"));
    of_text(&std::fs::read_to_string(path).expect("an example"), set)
}

#[test]
fn examples_are_counted() {
    for (name, set) in [
        ("graphs/bgemm_loops", &[("n", 3)][..]),
        ("graphs/bgemm_tree", &[("tiles", 5)]),
        ("graphs/llama_flat", &[("seq", 256)]),
        ("graphs/softmax", &[]),
        ("generate/llama_attention", &[("batch", 2), ("heads", 3), ("seq", 256)]),
    ] {
        let (expected, tally) = example(name, set);
        assert!(expected.is_complete() && tally.counted > 0 && tally.needs > 0, "{name}: {tally:?}");
    }
}

#[test]
fn regions_of_different_sizes_are_left_to_the_map() {
    let (expected, tally) = example("graphs/llama_table", &[("seq", 256)]);
    assert!(tally.counted > 10 && tally.mapped == 2, "{tally:?}");
    let whys: Vec<Why> = (0..29)
        .filter_map(|tensor| match expected.tracking(TensorId(tensor)) {
            Tracking::Mapped(mapped) => Some(mapped.why),
            Tracking::ReadOnly | Tracking::Counted => None,
        })
        .collect();
    let sizes = |why: &Why| matches!(why, Why::Sizes { dim: 0, one: 32, other: 128 });
    assert!(whys.iter().all(sizes), "{whys:?}");
}

/// How tensor `x` of a text is tracked.
fn tracked(body: &str) -> Tracking {
    let source = format!(
        "param n = 4; table t = [1, 2, 3]; axis b = dense(3); axis r = ragged(b, t);
         tensor x: f32[64, 8]; tensor y: f32[64, 8]; slot s = 1; kernel w(out x); kernel r1(in x); kernel u(inout x, in y);
         kernel sw(out s);
         workload part(i) {{ w(x[i, ..]); }}
         workload main {{ {body} }}"
    );
    of_text(&source, &[]).0.tracking(TensorId(0))
}

#[track_caller]
fn why(body: &str, expected: Why) {
    match tracked(body) {
        Tracking::Mapped(mapped) => assert_eq!(mapped.why, expected, "{mapped}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn tiles_are_regions_of_one_size_on_a_grid() {
    for body in [
        "w(x); r1(x);",
        "parallel for i in 0..n { w(x[i*16 +: 16, ..]); } parallel for i in 0..n { r1(x[48 - i*16 +: 16, ..]); }",
        "for i in 0..8 { parallel for j in 0..8 { w(x[i*8 + j, ..]); r1(x[j*8 + i, ..]); u(x[0, ..], y); } }",
        "parallel for i in b { parallel for j in 2..8 step 2 { w(x[i*16 + j, 4..8]); } }",
        "parallel for i in 0..8 { w(x[i, i]); r1(x[7 - i, i]); }",
        "parallel for i in 0..n { call part(i*2 + 1); } call part(3); if n == 4 { r1(x[0, ..]); } else { r1(x); }",
        "sequential { { parallel for i in 0..3 { w(x[i+1 .. i+2, ..]); } } { r1(x[1, ..]); } }",
        "for i in 0..0 { r1(x); } w(x[3, 0..4]); if n > 5 { r1(x); }",
    ] {
        assert_eq!(tracked(body), Tracking::Counted, "{body}");
    }
    assert_eq!(tracked("parallel for i in 0..9 { r1(x[i, ..]); r1(x); }"), Tracking::ReadOnly);
}

#[test]
fn what_is_in_the_way_is_told() {
    why("w(x[0..4, ..]); r1(x);", Why::Sizes { dim: 0, one: 4, other: 64 });
    why("w(x[0..4, ..]); r1(x[2..6, ..]);", Why::Overlap { dim: 0, size: 4 });
    why("parallel for i in 0..9 { w(x[i +: 4, ..]); }", Why::Overlap { dim: 0, size: 4 });
    why("parallel for i in 0..9 { parallel for j in 0..3 { w(x[2*i + j, ..]); } }", Why::Repeats { dim: 0 });
    why("parallel for i in 0..9 { parallel for j in 0..3 { w(x[i*j, ..]); } }", Why::Bounds);
    why("parallel for i in 0..9 { w(x[i % 4, ..]); }", Why::Bounds);
    why("w(x[s, ..]);", Why::Bounds);
    why("parallel for i in 0..4 { parallel for j in 0..i { w(x[j, ..]); } }", Why::Nest);
    why("parallel for i in b { parallel for j in r[i] { w(x[j, ..]); } }", Why::Nest);
    why("parallel for i in 0..4 { if i == 2 { w(x[0, ..]); } }", Why::Nest);
    why("while s < 1 max 3 { w(x[0, ..]); }", Why::Nest);
    why("w(x[3..3, ..]);", Why::Empty { dim: 0 });
    why("parallel for i in 60..66 { w(x[i, ..]); }", Why::Outside { dim: 0 });
}

#[test]
fn slots_are_left_to_the_map() {
    let (expected, _) = of_text("slot s = 1; kernel w(out s); workload main { w(s); }", &[]);
    let Tracking::Mapped(mapped) = expected.tracking(TensorId(0)) else { panic!("a slot is not counted") };
    assert_eq!(mapped.why, Why::Slot);
}

#[test]
fn numbers_do_not_take_longer_with_larger_extents() {
    let source = "param n; tensor c: f32[1024, 1024]; kernel k(inout c);
        workload main { parallel for i in 0..1024 { parallel for j in 0..n { parallel for l in 0..1024 {
            k(c[l, i]); k(c[l, ..]); } } } }";
    let source = source.replace("k(c[l, ..]); ", "");
    let module = module(&source);
    let lowered = lower(&module, &schedule(&module)).expect("it can be lowered");
    let bindings = bound(&module, &[("n", 1 << 30)]);
    let data = LaunchData::new(&lowered, &module, &bindings);
    let expected = Expected::analyse(&lowered.program.verified(), &data.as_launch());
    let mut needs = Vec::new();
    expected.needs(lowered.sites[0].word, &[7, (1 << 30) - 1, 9], &mut needs);
    assert_eq!(needs.len(), 1);
    assert_eq!(needs[0].all_before, (1 << 30) - 1);
    needs.clear();
    expected.needs(lowered.sites[0].word, &[7, 1 << 30, 9], &mut needs);
    expected.needs(lowered.sites[0].word + 1, &[7, 0, 9], &mut needs);
    assert_eq!(needs, []);
}

/// A rectangular program whose regions are tiles for the most part.
struct Rectangular {
    rng: Rng,
    text: String,
    /// Loops in scope: name and iterations, numbered from 0.
    scope: Vec<(String, i64)>,
    names: u32,
}

impl Rectangular {
    fn block(&mut self, nest: u32) {
        for _ in 0..=self.rng.below(2) {
            match self.rng.below(if nest == 0 { 1 } else { 5 }) {
                0 => self.task(),
                1 => {
                    self.text.push_str("sequential { { ");
                    self.block(nest - 1);
                    self.text.push_str("} { ");
                    self.block(nest - 1);
                    self.text.push_str("} } ");
                }
                _ => {
                    let (name, trip) = (format!("i{}", self.names), self.rng.below(4) as i64);
                    self.names += 1;
                    let kind = if self.rng.one_in(3) { "for" } else { "parallel for" };
                    write!(self.text, "{kind} {name} in 0..{trip} {{ ").expect("text grows");
                    self.scope.push((name, trip));
                    self.block(nest - 1);
                    self.scope.pop();
                    self.text.push_str("} ");
                }
            }
        }
    }

    /// A sum of loop variables in a mixed radix, now and then of others.
    fn index(&mut self, size: i64) -> String {
        let mut sum = format!("{}", size * self.rng.below(3) as i64);
        let mut factor = size;
        for (name, trip) in self.scope.clone() {
            if self.rng.one_in(2) {
                continue;
            }
            match self.rng.below(6) {
                0 => write!(sum, " + {factor} * ({} - {name})", (trip - 1).max(0)),
                _ => write!(sum, " + {factor} * {name}"),
            }
            .expect("text grows");
            factor *= if self.rng.one_in(8) { 1 } else { trip.max(1) };
        }
        sum
    }

    fn task(&mut self) {
        let kernel = ["w", "r", "u"][self.rng.below(3) as usize];
        let tensor = self.rng.below(2);
        let size = if self.rng.one_in(12) { 1 } else { 2 };
        let (first, second) = (self.index(size), self.index(1));
        write!(self.text, "{kernel}(t{tensor}[{first} +: {size}, {second}]); ").expect("text grows");
    }
}

fn rectangular(seed: u64) -> Tally {
    let text = "tensor t0: f32[600, 600]; tensor t1: f32[600, 600];
        kernel w(out x); kernel r(in x); kernel u(inout x); workload main { ";
    let mut maker = Rectangular { rng: Rng::new(seed), text: text.to_owned(), scope: Vec::new(), names: 0 };
    maker.block(4);
    maker.text.push('}');
    of_text(&maker.text, &[]).1
}

#[test]
fn rectangular_programs_are_counted_more_often_than_not() {
    let mut sum = Tally::default();
    for seed in 0..400 {
        let tally = rectangular(seed);
        sum.counted += tally.counted;
        sum.mapped += tally.mapped;
        sum.needs += tally.needs;
    }
    assert!(sum.counted > 2 * sum.mapped && sum.counted > 300 && sum.needs > 4000, "{sum:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn rectangular_programs_agree(seed in any::<u64>()) {
        rectangular(seed);
    }

    #[test]
    fn whatever_is_counted_of_any_program_agrees(seed in any::<u64>()) {
        let module = random_module(seed);
        let bindings = bind(&module, &[], &OrderedMap::new()).expect("everything has a default");
        if lower(&module, &schedule(&module)).is_ok() {
            compare(&module, &bindings);
        }
    }
}
