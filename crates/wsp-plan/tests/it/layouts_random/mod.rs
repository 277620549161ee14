//! Random kernels over tensors with layouts: what is accepted computes on a simulated grid what it computes without layouts.
//!
//! Each tile of the grid runs a task with what it has of the tensors that the task reaches across tiles. Values are whole numbers modulo
//! 2^64, where sums are exact in any order, and functions such as `TEXP` are some function of all bits.

mod change;
mod generate;
mod grid;
mod program;
mod shrink;
mod spread;
mod text;
mod tiles;

use crate::randomised::cases;
use crate::support::random::Random;
use grid::Stop;
use program::{Program, Tensor};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestRunner};
use spread::Reach;
use std::sync::Arc;
use wsp_core::policy::{Grid, LayoutDim, MeshAxis};
use wsp_core::{FuncId, Region, TensorId};
use wsp_diag::{SourceMap, Span};
use wsp_ir::workload::SchedulePolicy;
use wsp_ir::{FuncKind, Layout, Module};
use wsp_plan::layout::{AXES, LayoutAnalyzer, Tensors, TileMap};

/// What is found of a program.
enum Found {
    /// It has a fault of its own, as a program of which one thing was changed may have.
    None,
    Refused,
    /// `split`: a task reaches several tiles.
    Right {
        split: bool,
    },
    /// What of it is wrong on the grid.
    Wrong(String),
}

struct Named<'a>(&'a Module, &'a [Tensor]);

impl Tensors for Named<'_> {
    fn find(&self, name: &str) -> Option<(TensorId, Vec<Option<u32>>)> {
        let at = self.0.tensors.iter().position(|tensor| tensor.name == name)?;
        let of = self.1.get(usize::from(name.as_bytes()[0] - b'a'))?;
        Some((TensorId(at as u32), of.shape.map(|extent| Some(extent as u32)).to_vec()))
    }
}

const MESH: [MeshAxis; 2] = [MeshAxis::X, MeshAxis::Y];

fn name(tensor: usize) -> String {
    char::from(b'a' + tensor as u8).to_string()
}

/// The layouts of a program as a schedule has them.
fn policy(program: &Program) -> SchedulePolicy {
    let [x, y] = program.grid.map(|tiles| tiles as u32);
    let mut policy = SchedulePolicy { grid: Some(Grid { x, y }), ..SchedulePolicy::default() };
    for (at, tensor) in program.tensors.iter().enumerate() {
        let layout = |lies: program::Lies| {
            let dims =
                lies.map(|axis| axis.map_or(LayoutDim::Replicate, |axis| LayoutDim::Shard(MESH[axis])));
            Layout::new(&name(at), &dims, Span::default())
        };
        if let Some(lies) = tensor.stored {
            let pending = (0..2).filter(|axis| tensor.pending[*axis]).map(|axis| MESH[axis]).collect();
            policy.layouts.push(Layout { pending, ..layout(lies) });
        }
        policy.relayouts.extend(tensor.read.map(layout));
    }
    policy
}

/// The sums that are pending at the end, where the follower accepts a program; none if it has a fault of its own.
fn followed(program: &Program, reach: &[Vec<Reach>]) -> Option<Result<Vec<[bool; 2]>, String>> {
    let (module, _) = wsp_lang::compile("random.pto", &program.library(), &mut SourceMap::default());
    let module = module?;
    let map = TileMap::new(&policy(program), &Named(&module, &program.tensors)).ok()??;
    let mut analyzer = LayoutAnalyzer::new(Arc::new(map), true);
    let tensor = |at: usize| module.tensors.iter().position(|tensor| tensor.name == name(at));
    let kernels =
        (0..).zip(&module.functions).filter(|(_, func)| matches!(func.kind, FuncKind::Kernel { .. }));
    for ((func, _), tasks) in kernels.zip(reach) {
        for task in tasks {
            let regions = |hulls: &[Option<spread::Hull>]| -> Vec<Region> {
                let hulls = hulls.iter().enumerate().filter_map(|(at, hull)| Some((tensor(at)?, (*hull)?)));
                let region = |(at, hull): (usize, spread::Hull)| {
                    let [lo, hi] = hull.map(|index| index.map(|index| index as u32));
                    Region::new(TensorId(at as u32), &lo, &hi)
                };
                hulls.filter_map(region).collect()
            };
            let (reads, writes) = (regions(&task.loaded), regions(&task.stored));
            if let Err(fault) = analyzer.analyze(&module, FuncId(func), &reads, &writes) {
                return Some(Err(fault.message));
            }
        }
    }
    let left = match analyzer.finish(&module) {
        Ok(left) => left,
        Err(fault) => return Some(Err(fault.message)),
    };
    let pending = |(at, of): (usize, &Tensor)| {
        let left = tensor(at).and_then(|at| left.get(at)).copied().unwrap_or_default();
        [0, 1].map(|axis| of.pending[axis] || left.has(AXES[axis]))
    };
    Some(Ok(program.tensors.iter().enumerate().map(pending).collect()))
}

fn look(program: &Program) -> Found {
    let Ok(plain) = grid::plain(program) else { return Found::None };
    let widened = |tasks: &Vec<Reach>| tasks.iter().map(|reach| reach.widened(&program.tensors)).collect();
    let reach = if program.whole { plain.reach.iter().map(widened).collect() } else { plain.reach };
    let pending = match followed(program, &reach) {
        None => return Found::None,
        Some(Err(_)) => return Found::Refused,
        Some(Ok(pending)) => pending,
    };
    let spread = match grid::spread(program, &reach, &pending) {
        Ok(spread) => spread,
        Err(Stop::Number) => return Found::Wrong("a number differs from tile to tile".to_owned()),
        Err(Stop::Fault) => return Found::Wrong("a tile has another fault than the program".to_owned()),
    };
    for (at, (is, should)) in spread.tensors.iter().zip(&plain.tensors).enumerate() {
        if program.tensors[at].inner {
            continue;
        }
        let columns = program.tensors[at].shape[1];
        let differs = is.values().iter().zip(&should.values()).position(|(is, should)| is != should);
        if let Some(place) = differs {
            let (row, column) = (place / columns, place % columns);
            let over: Vec<char> =
                (0..2).filter(|axis| pending[at][*axis]).map(|axis| program::AXES[axis]).collect();
            return Found::Wrong(format!("{}[{row}, {column}] differs; pending over {over:?}", name(at)));
        }
    }
    let task_is_split =
        |reach: &Reach| spread::Sites::of(&spread.tensors, reach, 0, program.grid).across != [false; 2];
    Found::Right { split: reach.iter().flatten().any(task_is_split) }
}

#[test]
fn random_kernels_that_are_accepted_compute_the_same_on_a_grid() {
    let mut runner = TestRunner::new(Config::default());
    let start = proptest::num::u64::ANY.new_tree(&mut runner).expect("a number").current();
    let (mut accepted, mut split, mut refused, mut none) = (0u64, 0u64, 0u64, 0u64);
    let all = cases(2000);
    for case in 0..all {
        let program = generate::program(&mut Random::new(start.wrapping_add(case)));
        match look(&program) {
            Found::None => none += 1,
            Found::Refused => refused += 1,
            Found::Right { split: of_tiles } => {
                accepted += 1;
                split += u64::from(of_tiles);
            }
            Found::Wrong(_) => {
                let (least, why) = shrink::least(program, &|program| match look(program) {
                    Found::Wrong(why) => Some(why),
                    _ => None,
                });
                panic!("case {case} of {start}: accepted, and {why}\n{}", least.text());
            }
        }
    }
    println!(
        "{all} cases: {accepted} accepted, {split} of them across tiles; {refused} refused; {none} with a fault of their own"
    );
    assert!(split * 10 >= refused + split, "too few are accepted");
}
