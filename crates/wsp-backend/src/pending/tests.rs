//! Graphs that come back from their records, and bytes that are none.

use super::*;
use crate::{GraphAccess, GraphKernel, GraphListing};
use wsp_core::{ExecPool, Region, TensorId};
use wsp_ir::workload::AccessMode;

/// Numbers by a 64-bit linear congruence, from the high bits.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn written(graph: &GraphListing, most: usize) -> Vec<u8> {
    let (tensors, accesses) = (&graph.tensors, &graph.accesses);
    let graph =
        PendingGraph { kernels: &graph.kernels, tasks: &graph.tasks, edges: &graph.edges, accesses, tensors };
    graph.check().unwrap();
    let mut bytes = Vec::new();
    graph.write_with(most, &mut bytes).unwrap();
    bytes
}

fn back(bytes: &[u8]) -> Result<GraphListing, PendingFault> {
    let mut found = read(&mut &bytes[..])?;
    found.edges.sort_unstable();
    Ok(found)
}

fn kernel(name: &str, unit: ExecPool) -> GraphKernel {
    GraphKernel { name: name.to_owned(), unit }
}

/// A graph of so many tasks with edges by their earlier task, some of them repeated.
fn graph(random: &mut Random, tasks: u32, edges: u64) -> GraphListing {
    let mut graph = GraphListing {
        kernels: vec![
            kernel("norm", ExecPool::Vector),
            kernel("gemm", ExecPool::Cube),
            kernel("@order", ExecPool::Any),
        ],
        tensors: vec!["x".to_owned(), "größe".to_owned()],
        ..GraphListing::default()
    };
    for task in 0..tasks {
        graph.tasks.push(random.below(3) as u32);
        for arg in 0..random.below(4) as u32 {
            let lo = [random.below(9) as u32, random.below(9) as u32];
            let hi = [lo[0] + random.below(5) as u32, lo[1] + 1];
            let region = Region::new(TensorId(random.below(2) as u32), &lo, &hi).unwrap();
            let mode = [AccessMode::In, AccessMode::Out, AccessMode::InOut][random.below(3) as usize];
            graph.accesses.push(GraphAccess { task, arg, mode, region });
        }
    }
    for _ in 0..edges {
        let to = 1 + random.below(u64::from(tasks) - 1) as u32;
        graph.edges.push((random.below(u64::from(to)) as u32, to));
    }
    graph.edges.sort_unstable();
    graph
}

#[track_caller]
fn same(found: &GraphListing, graph: &GraphListing) {
    assert_eq!(found.kernels, graph.kernels);
    assert_eq!(found.tasks, graph.tasks);
    assert_eq!(found.tensors, graph.tensors);
    assert_eq!(found.accesses, graph.accesses);
    assert_eq!(found.edges, graph.edges);
}

#[test]
fn graphs_come_back_through_relays_of_any_depth() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let graph = graph(&mut random, 2 + seed as u32 % 30, seed * 3);
        for most in [2, 3, 7, 512] {
            same(&back(&written(&graph, most)).unwrap(), &graph);
        }
    }
}

#[test]
fn a_record_has_512_successors_and_relays_have_the_others() {
    for (successors, relays) in [(511, 0), (512, 0), (513, 2), (1500, 3)] {
        let mut graph = graph(&mut Random(1), successors + 1, 0);
        graph.edges = (1..=successors).map(|to| (0, to)).collect();
        let bytes = written(&graph, PendingTask::FANOUT);
        let records = u32::from_le_bytes(bytes[8..12].try_into().unwrap());
        assert_eq!(records, successors + 1 + relays);
        let begin = bytes.len() - records as usize * 2592;
        assert!(begin.is_multiple_of(8) && begin < 200);
        let first = PendingTask::read_from_bytes(&bytes[begin..][..2592]).unwrap();
        assert_eq!(u32::from(first.num_fanout), if relays == 0 { successors } else { relays });
        same(&back(&bytes).unwrap(), &graph);
    }
}

#[test]
fn an_empty_graph_is_a_file() {
    let none = GraphListing::default();
    let bytes = written(&none, 512);
    assert_eq!(bytes.len(), 24);
    same(&back(&bytes).unwrap(), &none);
}

#[test]
fn what_has_no_record_is_refused() {
    let mut random = Random(3);
    let good = graph(&mut random, 3, 0);
    let region = Region::new(TensorId(0), &[0], &[1]).unwrap();
    let access = |arg, region| GraphAccess { task: 1, arg, mode: AccessMode::In, region };
    let refused = |change: &dyn Fn(&mut GraphListing)| {
        let mut graph = good.clone();
        change(&mut graph);
        let (tensors, accesses) = (&graph.tensors, &graph.accesses);
        let graph = PendingGraph {
            kernels: &graph.kernels,
            tasks: &graph.tasks,
            edges: &graph.edges,
            accesses,
            tensors,
        };
        graph.check().unwrap_err().to_string()
    };
    let many = refused(&|graph| graph.accesses = (0..17).map(|arg| access(arg, region)).collect());
    assert_eq!(many, "task 1 has 17 accesses, and a record 16 arguments");
    let deep = Region::new(TensorId(0), &[0, 0, 3], &[1, 1, 4]).unwrap();
    assert!(refused(&|graph| graph.accesses = vec![access(2, deep)]).contains("access 2 of task 1"));
    let far = Region::new(TensorId(0), &[1 << 31], &[(1 << 31) + 1]).unwrap();
    assert!(refused(&|graph| graph.accesses = vec![access(0, far)]).contains("31 bits"));
    assert!(refused(&|graph| graph.tensors[0] = "a,b".to_owned()).contains("\"a,b\""));
}

/// A field of the record of a small graph, and what is said when it has another value.
#[test]
fn fields_that_are_wrong_are_named() {
    let mut random = Random(5);
    let mut good = graph(&mut random, 4, 0);
    good.edges = vec![(0, 1), (0, 2), (0, 3), (1, 3)];
    good.accesses.retain(|access| access.task == 0);
    let region = Region::new(TensorId(1), &[1, 2], &[3, 4]).unwrap();
    good.accesses = vec![GraphAccess { task: 0, arg: 0, mode: AccessMode::Out, region }];
    let bytes = written(&good, 2);
    let begin = bytes.len() - 6 * 2592;
    let said = |record: usize, at: usize, value: &[u8]| {
        let mut bytes = bytes.clone();
        let at = begin + record * 2592 + at;
        bytes[at..at + value.len()].copy_from_slice(value);
        back(&bytes).expect_err("it is wrong").to_string()
    };
    let four = |value: i32| value.to_le_bytes();
    for (record, at, value, part) in [
        (1, 0, four(2), "record 1: `task_id` is 2"),
        (1, 4, four(2), "`reserved` is 2"),
        (1, 8, four(3), "`func_name` is 3; it should be a row"),
        (4, 8, four(0), "`func_name` is -4294967296"),
        (1, 16, four(1), "`func_ptr` is 1"),
        (0, 24, four(2), "`base` is 2"),
        (0, 32, four(-1), "`rows` is -1"),
        (0, 44, four(-5), "`cols` is -5"),
        (0, 48, four(3), "`is_output` is 3"),
        (0, 52, four(1), "`reserved` is 1"),
        (0, 56, four(1), "`num_args` is 1; arguments behind"),
        (1, 536, four(2), "`fanin` is 2; it should be the number of times"),
        (4, 536, four(2), "`fanin` is 2; a relay has one"),
        (0, 540, four(6), "`fanout` is 6"),
        (0, 540, four(-1), "`fanout` is -1"),
        (1, 540, four(1), "`fanin` is 1"),
        (0, 2588, four(2 << 16 | 17), "`num_args` is 17"),
        (4, 2588, four(2 << 16 | 1), "`num_args` is 1; at most 16, and none of a relay"),
        (0, 2588, four(1), "`num_fanout` is 0; successors behind"),
        (0, 2588, four(513 << 16 | 1), "`num_fanout` is 513"),
    ] {
        let said = said(record, at, &value);
        assert!(said.contains(part), "{said}, not {part}");
    }
}

#[test]
fn relays_that_name_each_other_are_no_tree() {
    let mut good = graph(&mut Random(5), 5, 0);
    good.edges = (1..5).map(|to| (0, to)).collect();
    let mut bytes = written(&good, 2);
    let begin = bytes.len() - 7 * 2592;
    // Relays 5 and 6 name themselves and each other; the task names what they did.
    for (record, to) in [(0, [1, 2]), (5, [6, 3]), (6, [5, 4])] {
        let at = begin + record * 2592 + 540;
        bytes[at..at + 8].copy_from_slice([to[0], to[1]].map(i32::to_le_bytes).as_flattened());
    }
    let said = back(&bytes).unwrap_err().to_string();
    assert!(said.contains("a relay names tasks, and relays before it"), "{said}");
}

#[test]
fn ten_thousand_damaged_files_are_refused_or_graphs() {
    let mut random = Random(11);
    let (mut refused, mut taken) = (0, 0);
    for round in 0..10_000 {
        let graph = graph(&mut random, 2 + round % 4, 6);
        let mut bytes = written(&graph, 2);
        for _ in 0..=random.below(2) {
            // Half of the changes are at fields that mean something: most of a record is zeros.
            let records = bytes.len() / 2592;
            let at = match random.below(3) {
                0 => random.below(bytes.len() as u64),
                1 => random.below((bytes.len() - records * 2592) as u64 + 1),
                _ => {
                    let field = [0, 8, 24, 32, 48, 536, 540, 544, 2588, 2590][random.below(10) as usize];
                    (bytes.len() - (1 + random.below(records as u64) as usize) * 2592 + field) as u64
                }
            } as usize;
            match random.below(8) {
                0 => {
                    bytes.truncate(at);
                    break;
                }
                1 => bytes.push(random.below(256) as u8),
                2 => bytes[at] = random.below(256) as u8,
                _ => bytes[at] = bytes[at].wrapping_add(if random.below(2) == 0 { 1 } else { 255 }),
            }
        }
        match back(&bytes) {
            Err(fault) => {
                assert!(!fault.to_string().is_empty());
                refused += 1;
            }
            Ok(found) => {
                let forward = |(from, to): &(u32, u32)| from < to && (*to as usize) < found.tasks.len();
                assert!(found.edges.iter().all(forward));
                assert!(found.tasks.iter().all(|kernel| (*kernel as usize) < found.kernels.len()));
                same(&back(&written(&found, 2)).unwrap(), &found);
                taken += 1;
            }
        }
    }
    assert!(refused > 5_000 && taken > 50, "{refused} refused, {taken} taken");
}
