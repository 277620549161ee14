//! Random spaces under random schedules: every schedule issues exactly the items of the space, in the order that a
//! sort by its policies gives.

use crate::support::build::*;
use crate::support::machine::{Event, Machine};
use crate::support::random::Random;
use wsp_core::*;
use wsp_ir::*;
use wsp_plan::{CompileOptions, lower};

const LENS: u32 = 7;

/// How an axis of the random space is bounded.
#[derive(Clone, Debug)]
enum Bound {
    Static {
        start: u32,
        end: u32,
        tile: Option<u32>,
    },
    /// `lens[(Σ aᵢ·vᵢ + k) % LENS]`, from the guard of the body.
    Guard {
        factors: Vec<u32>,
        k: u32,
    },
    /// Elements per index of the first axis.
    PerOuter {
        tile: Option<u32>,
    },
    /// A number of elements.
    Scalar {
        elements: u32,
        tile: Option<u32>,
    },
}

struct Case {
    bounds: Vec<Bound>,
    lens: Vec<u32>,
    order: Vec<(usize, OrderPolicy)>,
    statements: usize,
}

fn case(seed: u64) -> Case {
    let mut r = Random::new(seed);
    let count = 2 + r.below(3) as usize;
    let mut rank: Vec<usize> = (0..count).collect();
    r.shuffle(&mut rank);
    let mut bounds = Vec::new();
    for axis in 0..count {
        let tile = if r.one_in(2) { None } else { Some(1 + r.below(3)) };
        let start = r.below(3);
        bounds.push(match r.below(5) {
            4 if axis > 0 && rank[0] < rank[axis] => Bound::PerOuter { tile },
            0 | 1 => Bound::Static { start, end: start + 1 + r.below(4), tile },
            2 => {
                // Only on axes of lower rank, so that no two depend on each other.
                let of_lower = |other: &usize| rank[*other] < rank[axis];
                let factors = (0..count).map(|o| if of_lower(&o) { r.below(3) } else { 0 }).collect();
                Bound::Guard { factors, k: r.below(LENS) }
            }
            _ => Bound::Scalar { elements: r.below(7), tile },
        });
    }
    let mut order: Vec<(usize, OrderPolicy)> = (0..count)
        .map(|axis| {
            let n = 1 + r.below(4);
            let policies = [
                OrderPolicy::Sequential,
                OrderPolicy::Parallel,
                OrderPolicy::SequentialStrict,
                OrderPolicy::Interleaved(n),
                OrderPolicy::Interleaved(n),
                OrderPolicy::Blocked(n),
                OrderPolicy::Blocked(n),
            ];
            (axis, *r.pick(&policies))
        })
        .collect();
    r.shuffle(&mut order);
    let statements = r.below(count as u32 + 1) as usize;
    let mut rest: Vec<usize> = order.split_off(statements).into_iter().map(|(axis, _)| axis).collect();
    rest.sort_unstable();
    order.extend(rest.into_iter().map(|axis| (axis, OrderPolicy::Sequential)));
    Case { bounds, lens: (0..LENS + 1).map(|_| r.below(5)).collect(), order, statements }
}

fn program(case: &Case) -> Module {
    let axes = case.bounds.iter().enumerate().map(|(i, bound)| {
        let tile = |t: &Option<u32>| t.map(|t| TileSize::Fixed(n(t)));
        let (start, end, tile) = match bound {
            Bound::Static { start, end, tile: t } => (n(*start), Some(n(*end)), tile(t)),
            Bound::Guard { .. } => (n(0), None, None),
            Bound::Scalar { tile: t, .. } | Bound::PerOuter { tile: t } => (n(0), None, tile(t)),
        };
        axis(&format!("a{i}"), start, end, tile)
    });
    let mut p = LaunchedSpace::new(axes.collect());
    for (i, bound) in case.bounds.iter().enumerate() {
        match bound {
            Bound::Guard { factors, k } => {
                let count = p.local(&format!("count{i}"));
                let at = factors
                    .iter()
                    .zip(&p.vars)
                    .filter(|(f, _)| **f > 0)
                    .fold(n(*k), |sum, (f, var)| op(BinOp::Add, sum, op(BinOp::Mul, n(*f), v(*var))));
                p.body.push(set(count, load(TensorId(0), op(BinOp::Rem, at, n(LENS)))));
                p.body.push(skip_if(op(BinOp::Ge, v(p.vars[i]), v(count))));
            }
            Bound::Scalar { elements, .. } => {
                let extent = ExtentSource::Scalar(n(*elements));
                p.before.push(s(StmtKind::SetExtent { axis: AxisId(i as u32), extent, last: None }));
            }
            Bound::PerOuter { .. } => {
                let extent = ExtentSource::PerOuter(ArrayRef::Tensor(TensorId(0)));
                p.before.push(s(StmtKind::SetExtent { axis: AxisId(i as u32), extent, last: None }));
            }
            Bound::Static { .. } => {}
        }
    }
    let listed = case.order[..case.statements].iter();
    p.module(Some(schedule("S", listed.map(|(axis, policy)| order(&format!("a{axis}"), *policy)).collect())))
}

/// The range of an axis at an item; guards depend on the other indices.
fn range(bound: &Bound, item: &[u32], lens: &[u32]) -> (u32, u32) {
    match bound {
        Bound::Static { start, end, tile: None } => (*start, *end),
        Bound::Static { start, end, tile: Some(t) } => (0, (end - start).div_ceil(*t)),
        Bound::Scalar { elements, tile } => (0, elements.div_ceil(tile.unwrap_or(1))),
        Bound::PerOuter { tile } => (0, lens[item[0] as usize].div_ceil(tile.unwrap_or(1))),
        Bound::Guard { factors, k } => {
            let at: u32 = factors.iter().zip(item).map(|(f, i)| f * i).sum();
            (0, lens[((at + k) % LENS) as usize])
        }
    }
}

/// Every item of the space, by trying all index tuples.
fn all_items(case: &Case) -> Vec<Vec<u32>> {
    let mut items = vec![vec![]];
    for _ in &case.bounds {
        items = items.iter().flat_map(|i: &Vec<u32>| (0..8).map(|v| [i.as_slice(), &[v]].concat())).collect();
    }
    items.retain(|item| {
        case.bounds.iter().zip(item).all(|(bound, i)| {
            let (lo, hi) = range(bound, item, &case.lens);
            (lo..hi).contains(i)
        })
    });
    items
}

/// Where an item comes in the order of the policies.
fn key(case: &Case, item: &[u32]) -> Vec<u32> {
    let mut lo: Vec<u32> = case.bounds.iter().map(|b| range(b, item, &case.lens).0).collect();
    let (mut key, mut deferred) = (Vec::new(), Vec::new());
    for (level, (axis, policy)) in case.order.iter().enumerate() {
        let next = case.order.get(level + 1).map(|(next, _)| *next);
        match (policy, next) {
            (OrderPolicy::Interleaved(n), Some(_)) => {
                key.push((item[*axis] - lo[*axis]) / n);
                deferred.push(*axis);
                continue;
            }
            (OrderPolicy::Blocked(n), Some(next)) => {
                let block = (item[next] - lo[next]) / n;
                key.push(block);
                lo[next] += block * n;
            }
            _ => {}
        }
        key.push(item[*axis]);
        key.extend(deferred.drain(..).rev().map(|axis| item[axis]));
    }
    key
}

fn run(module: &Module, lens: &[u32]) -> Vec<Event> {
    let plan = lower(module, &CompileOptions::default()).unwrap_or_else(|d| panic!("{d:#?}"));
    let mut machine = Machine::new(&plan.module);
    machine.arrays.insert(TensorId(0), lens.to_vec());
    machine.run(plan.stages[0].generator).expect("the generator should run");
    machine.events
}

#[test]
fn every_schedule_issues_each_item_once_and_in_its_order() {
    let mut items_seen = 0;
    for seed in 0..1500 {
        let case = case(seed);
        let module = program(&case);
        let count = case.bounds.len();
        let got: Vec<Vec<u32>> = run(&module, &case.lens)
            .into_iter()
            .filter_map(|e| match e {
                Event::Emit { fields, .. } => Some(fields[..count].to_vec()),
                _ => None,
            })
            .collect();
        let mut expected = all_items(&case);
        expected.sort_by_key(|item| key(&case, item));
        assert_eq!(got, expected, "seed {seed}: {:?} {:?}", case.bounds, case.order);
        items_seen += got.len();
    }
    println!("{items_seen} items");
    assert!(items_seen > 10_000, "only {items_seen} items: the cases say little");
}

#[test]
fn a_fence_stands_between_successive_values_of_a_strict_axis() {
    for seed in 0..600 {
        let case = case(seed);
        let events = run(&program(&case), &case.lens);
        for (level, (axis, policy)) in case.order.iter().enumerate() {
            if *policy != OrderPolicy::SequentialStrict {
                continue;
            }
            // Items that agree on the axes outside: a change of the strict index between two of them needs a fence.
            let outside: Vec<usize> = case.order[..level].iter().map(|(axis, _)| *axis).collect();
            let emitted: Vec<(usize, &Vec<u32>)> = events
                .iter()
                .enumerate()
                .filter_map(|(at, e)| match e {
                    Event::Emit { fields, .. } => Some((at, fields)),
                    _ => None,
                })
                .collect();
            for (i, (at, item)) in emitted.iter().enumerate() {
                let same_outside = |other: &Vec<u32>| outside.iter().all(|o| other[*o] == item[*o]);
                let before = emitted[..i]
                    .iter()
                    .rev()
                    .find(|(_, other)| same_outside(other) && other[*axis] < item[*axis]);
                if let Some((earlier, _)) = before {
                    let fenced = events[*earlier..*at].contains(&Event::Fence);
                    assert!(fenced, "seed {seed}: no fence before {item:?} {:?}", case.order);
                }
            }
        }
    }
}
