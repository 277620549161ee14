//! Logical cores: who holds which, who waits for them, and what becomes of what programs ask of them.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use crate::tg_common::{Build, Script, launch, name, runtime, runtime_with};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use wsp_core::tg::{AffinityType, CoreType};
use wsp_runtime::tg::{
    Affinity, BlockTrace, CoreCounts, CoreRange, Granted, Graph, Hints, LaunchOptions, Partition, Refused,
    Runtime, RuntimeConfig, Trace, validate,
};

fn counts(aic: u32, aiv: u32, aicpu: u32) -> CoreCounts {
    CoreCounts { aic, aiv, aicpu, l2_domains: 2, ..CoreCounts::default() }
}

fn with_cores(threads: u32, cores: CoreCounts, hints: Hints) -> Runtime<Script> {
    runtime_with(RuntimeConfig { threads, cores, hints, ..RuntimeConfig::default() })
}

fn blocks_of<'t>(trace: &'t Trace, name: &str) -> Vec<&'t BlockTrace> {
    trace.blocks.iter().filter(|block| trace.runs[block.run as usize].name == name).collect()
}

/// The cube and vector cores that a kernel held.
fn cores_of(trace: &Trace, name: &str) -> (BTreeSet<u32>, BTreeSet<u32>) {
    let blocks = blocks_of(trace, name);
    let aic = blocks.iter().filter_map(|block| block.cores.aic()).collect();
    (aic, blocks.iter().flat_map(|block| block.cores.aiv().to_vec()).collect())
}

fn granted_to(trace: &Trace, name: &str) -> Granted {
    trace.runs.iter().find(|run| run.name == name).unwrap().granted
}

fn run(runtime: &Runtime<Script>, graph: &Arc<Graph>) -> Trace {
    launch(runtime, graph, &Script::idle());
    runtime.sync_all().unwrap();
    let trace = runtime.take_trace().unwrap();
    assert_eq!(validate(graph, &trace), []);
    trace
}

/// ISA-TG-13: each type of kernel holds cores of its type; a mixed block holds both kinds.
#[test]
fn blocks_hold_cores_of_their_type() {
    let mut build = Build::new("G");
    build.kernel("CUBE", 2, CoreType::Aic);
    build.kernel("VECTOR", 2, CoreType::Aiv);
    build.kernel("MIXED", 2, CoreType::AicAiv);
    build.kernel("CONTROL", 2, CoreType::Aicpu);
    let graph = build.finish();
    let trace = run(&runtime(2), &graph);
    let shape = |name: &str| {
        let held = |block: &&BlockTrace| {
            let cores = block.cores;
            (cores.aic().is_some(), cores.aiv().len(), cores.aicpu().is_some())
        };
        blocks_of(&trace, name).iter().map(held).collect::<Vec<_>>()
    };
    assert_eq!(shape("CUBE"), [(true, 0, false); 2]);
    assert_eq!(shape("VECTOR"), [(false, 1, false); 2]);
    assert_eq!(shape("MIXED"), [(true, 2, false); 2]);
    assert_eq!(shape("CONTROL"), [(false, 0, true); 2]);
}

/// More blocks than cores run in waves.
#[test]
fn blocks_beyond_the_cores_wait_for_the_next_wave() {
    let mut build = Build::new("G");
    build.kernel("WIDE", 20, CoreType::AicAiv);
    let graph = build.finish();
    let trace = run(&with_cores(6, counts(3, 6, 1), Hints::Ignore), &graph);
    assert_eq!(blocks_of(&trace, "WIDE").len(), 20);
    let (aic, aiv) = cores_of(&trace, "WIDE");
    assert!(aic.iter().all(|&core| core < 3) && aiv.iter().all(|&core| core < 6));
    assert_eq!(granted_to(&trace, "WIDE"), Granted { aic: 3, aiv: 6, aicpu: 0 });
}

/// ISA-EX-02, ISA-EM-03: independent kernels run side by side, even on one thread.
#[test]
fn independent_kernels_overlap_on_one_thread() {
    let mut build = Build::new("G");
    build.kernel("A", 24, CoreType::AicAiv);
    build.kernel("B", 24, CoreType::AicAiv);
    let graph = build.finish();
    let trace = run(&runtime(1), &graph);
    let spans = trace.spans();
    let span = |name: &str| spans[trace.runs.iter().position(|run| run.name == name).unwrap()].unwrap();
    let (a, b) = (span("A"), span("B"));
    assert!(a.0 < b.1 && b.0 < a.1, "{a:?} {b:?}");
}

/// ISA-CA-01, ISA-CA-02: a request bounds the cores that a kernel holds at once, shows in the trace, and changes nothing else.
#[test]
fn requests_bound_the_cores_held_at_once() {
    for (hints, most) in [(Hints::Honour, 2), (Hints::Ignore, 6)] {
        let mut build = Build::new("G");
        let node = build.kernel("K", 12, CoreType::AicAiv);
        build.info(node).request = Some(Granted { aic: 2, aiv: 4, aicpu: 0 });
        let graph = build.finish();
        let (now, peak) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (running, highest) = (now.clone(), peak.clone());
        let bodies = Arc::new(Script::new(move |_| {
            highest.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        }));
        let runtime = with_cores(4, counts(6, 12, 1), hints);
        launch(&runtime, &graph, &bodies);
        assert_eq!(runtime.sync_all().unwrap().blocks, 12);
        assert!(peak.load(Ordering::SeqCst) <= most);
        let granted = granted_to(&runtime.take_trace().unwrap(), "K");
        assert_eq!(granted, Granted { aic: most, aiv: 2 * most, aicpu: 0 });
    }
}

fn with_affinity(kind: AffinityType) -> Arc<Graph> {
    let mut build = Build::new("G");
    for name in ["A", "B"] {
        build.kernel(name, 6, CoreType::AicAiv);
    }
    build.parts.affinities.push(Affinity { kind, members: vec![vec![0], vec![1]] });
    build.finish()
}

/// ISA-CA-04: honoured affinities decide on which cores kernels run.
#[test]
fn affinities_decide_on_which_cores_kernels_run() {
    let cores = |kind| {
        let runtime = with_cores(4, counts(8, 16, 1), Hints::Honour);
        let trace = run(&runtime, &with_affinity(kind));
        (cores_of(&trace, "A"), cores_of(&trace, "B"))
    };
    let (a, b) = cores(AffinityType::Colocate);
    assert_eq!((a.0.len(), a.1.len()), (6, 12));
    assert_eq!(a, b, "the same cores");
    let (a, b) = cores(AffinityType::Separate);
    assert!(a.0.is_disjoint(&b.0) && a.1.is_disjoint(&b.1));
    let (a, b) = cores(AffinityType::L2Share);
    let domains = |cores: &BTreeSet<u32>, each: u32| cores.iter().map(|c| c / each).collect::<BTreeSet<_>>();
    assert_eq!(domains(&(&a.0 | &b.0), 4).len(), 1, "one part of the L2 cache");
    assert_eq!(domains(&(&a.1 | &b.1), 8).len(), 1);
}

/// ISA-PM-06, ISA-PM-07: where hints are not honoured they have no effect.
#[test]
fn hints_that_are_not_honoured_have_no_effect() {
    let trace = run(&with_cores(2, counts(8, 16, 1), Hints::Ignore), &with_affinity(AffinityType::Separate));
    assert_eq!(granted_to(&trace, "A"), Granted { aic: 6, aiv: 12, aicpu: 0 });
}

/// ISA-CA-05, ISA-CA-06: two tenants keep to their partitions, and one that is held up does not hold up the other.
#[test]
fn kernels_of_a_partition_run_on_its_cores_only() {
    let part = |start| {
        let (aic, aiv) = (CoreRange { start, count: 2 }, CoreRange { start: 2 * start, count: 4 });
        Partition { aic, aiv }
    };
    let tenant = |name: &str| {
        let mut build = Build::new(name);
        for i in 0..8 {
            build.kernel(&format!("{name}{i}"), 5, CoreType::AicAiv);
        }
        build.finish()
    };
    let (left, right) = (tenant("LEFT"), tenant("RIGHT"));
    let runtime = with_cores(4, counts(4, 8, 1), Hints::Honour);
    let streams = [runtime.create_stream(0).unwrap(), runtime.create_stream(0).unwrap()];
    for (graph, at) in [(&left, 0), (&right, 1)] {
        let partition = Some(part(2 * at as u32));
        let options = LaunchOptions { partition, ..LaunchOptions::on(streams[at]) };
        runtime.launch(graph, Script::idle(), options).unwrap();
    }
    runtime.sync_all().unwrap();
    let trace = runtime.take_trace().unwrap();
    assert_eq!([validate(&left, &trace), validate(&right, &trace)], [[], []]);
    for (run, block) in trace.blocks.iter().map(|block| (&trace.runs[block.run as usize], block)) {
        let first = if run.name.starts_with("LEFT") { 0 } else { 2 };
        assert!((first..first + 2).contains(&block.cores.aic().unwrap()));
        assert!(block.cores.aiv().iter().all(|&core| (2 * first..2 * first + 4).contains(&core)));
    }
}

/// ISA-CA-06: while one tenant's kernels wait for cores, the other's run.
#[test]
fn a_tenant_without_free_cores_does_not_hold_up_the_other() {
    let mut build = Build::new("G");
    let held: Vec<u32> = (0..12).map(|i| build.kernel(&format!("HELD{i}"), 1, CoreType::Aic)).collect();
    let free = build.kernel("FREE", 1, CoreType::Aic);
    let part = |start| {
        let (aic, aiv) = (CoreRange { start, count: 1 }, CoreRange::default());
        Some(Partition { aic, aiv })
    };
    held.iter().for_each(|&node| build.info(node).partition = part(0));
    build.info(free).partition = part(1);
    let graph = build.finish();
    let meeting = Arc::new(Barrier::new(2));
    let once = AtomicU32::new(0);
    let bodies = Arc::new(Script::new(move |cx| {
        // The first of the one tenant runs until the other's has begun.
        if name(cx) == "FREE" || once.fetch_add(1, Ordering::SeqCst) == 0 {
            meeting.wait();
        }
        Ok(())
    }));
    let runtime = with_cores(2, counts(2, 2, 1), Hints::Honour);
    launch(&runtime, &graph, &bodies);
    assert_eq!(runtime.sync_all().unwrap().kernels, 13);
}

#[test]
fn a_kernel_without_cores_in_its_partition_is_refused() {
    let mut build = Build::new("G");
    let node = build.kernel("K", 1, CoreType::Aic);
    let aiv = CoreRange { start: 0, count: 4 };
    build.info(node).partition = Some(Partition { aic: CoreRange::default(), aiv });
    let graph = build.finish();
    let runtime = with_cores(1, counts(4, 8, 1), Hints::Honour);
    let stream = runtime.default_stream(0).unwrap();
    let refused = runtime.launch(&graph, Script::idle(), LaunchOptions::on(stream)).unwrap_err();
    assert_eq!(refused.to_string(), "kernel `K` needs AIC cores, and its partition has too few for a block");
}

/// ISA-SY-03: all blocks of a gang meet each other, though there are fewer threads than blocks.
#[test]
fn all_blocks_of_a_gang_run_at_the_same_time() {
    for threads in [1, 3] {
        let mut build = Build::new("G");
        let before = build.vector("BEFORE", 2);
        let a = build.kernel("A", 4, CoreType::Aic);
        let b = build.kernel("B", 6, CoreType::Aiv);
        let other = build.vector("OTHER", 9);
        let after = build.vector("AFTER", 1);
        build.gang(&[a, b]);
        build.chain(&[(before, a), (a, after), (b, after), (other, after)]);
        let graph = build.finish();
        let meeting = Arc::new(Barrier::new(10));
        let workers = Arc::new(Mutex::new(BTreeSet::new()));
        let (meets, used) = (meeting.clone(), workers.clone());
        let bodies = Arc::new(Script::new(move |cx| {
            if ["A", "B"].contains(&name(cx).as_str()) {
                used.lock().unwrap().insert(cx.worker);
                meets.wait();
            }
            Ok(())
        }));
        let runtime = with_cores(threads, counts(4, 8, 1), Hints::Ignore);
        for _ in 0..3 {
            launch(&runtime, &graph, &bodies);
        }
        assert_eq!(runtime.sync_all().unwrap().blocks, 3 * 22);
        assert_eq!(workers.lock().unwrap().len(), 10, "no two blocks have the same worker");
        assert_eq!(validate(&graph, &runtime.take_trace().unwrap()), []);
    }
}

#[test]
fn a_gang_that_never_fits_is_refused_with_the_numbers() {
    let mut build = Build::new("G");
    let a = build.kernel("A", 3, CoreType::AicAiv);
    let b = build.kernel("B", 2, CoreType::Aic);
    build.gang(&[a, b]);
    let graph = build.finish();
    let runtime = with_cores(8, counts(4, 8, 1), Hints::Ignore);
    let stream = runtime.default_stream(0).unwrap();
    let refused = runtime.launch(&graph, Script::idle(), LaunchOptions::on(stream)).unwrap_err();
    assert!(matches!(&refused, Refused::GangTooLarge { needs: [5, 6, 0], has: [4, 8, 1], .. }), "{refused}");
}

/// Kernels that keep coming do not keep a gang waiting.
#[test]
fn a_gang_gets_its_cores_though_others_keep_coming() {
    let mut build = Build::new("GANG");
    let members: Vec<u32> = ["A", "B"].map(|name| build.kernel(name, 2, CoreType::Aic)).to_vec();
    build.gang(&members);
    let gang = build.finish();
    let mut build = Build::new("CROWD");
    for i in 0..50 {
        build.kernel(&format!("K{i}"), 4, CoreType::Aic);
    }
    let crowd = build.finish();
    let runtime = with_cores(3, counts(4, 4, 1), Hints::Ignore);
    let stream = runtime.create_stream(0).unwrap();
    launch(&runtime, &crowd, &Script::idle());
    let id = runtime.launch(&gang, Script::idle(), LaunchOptions::on(stream)).unwrap();
    assert_eq!(runtime.sync(id).unwrap().blocks, 4);
    runtime.sync_all().unwrap();
    let trace = runtime.take_trace().unwrap();
    assert_eq!([validate(&gang, &trace), validate(&crowd, &trace)], [[], []]);
}

/// A block of a gang that fails is seen by those that wait for it.
#[test]
fn a_failing_block_of_a_gang_stops_the_others() {
    let mut build = Build::new("G");
    let members: Vec<u32> = ["A", "B"].map(|name| build.kernel(name, 2, CoreType::Aic)).to_vec();
    build.gang(&members);
    let graph = build.finish();
    let bodies = Arc::new(Script::new(|cx| {
        if name(cx) == "A" && cx.block == 1 {
            return Err("no".to_owned());
        }
        while !cx.kernel.stop.is_set() {
            std::thread::yield_now();
        }
        Ok(())
    }));
    let runtime = runtime(1);
    launch(&runtime, &graph, &bodies);
    let failure = runtime.sync_all().unwrap_err().to_string();
    assert_eq!(failure, "launch 1 of graph `G` failed in block 1 of 2 of kernel `A`: no");
}

/// ISA-FE-03: of ready kernels those of the graph with the higher priority go first.
#[test]
fn kernels_of_the_more_urgent_graph_go_first() {
    let graph = |name: &str| {
        let mut build = Build::new(name);
        build.vector(name, 6);
        build.finish()
    };
    let (gate, low, high) = (graph("GATE"), graph("LOW"), graph("HIGH"));
    let runtime = runtime(1);
    let (started, has_started) = std::sync::mpsc::channel();
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let may_go = Mutex::new(may_go);
    let holds = Arc::new(Script::new(move |cx| {
        if cx.block == 0 {
            started.send(()).unwrap();
            may_go.lock().unwrap().recv().unwrap();
        }
        Ok(())
    }));
    let order = Arc::new(Mutex::new(Vec::new()));
    let seen = order.clone();
    let logs = Arc::new(Script::new(move |cx| {
        seen.lock().unwrap().push(name(cx));
        Ok(())
    }));
    launch(&runtime, &gate, &holds);
    has_started.recv().unwrap();
    runtime.set_priority(&high, 3).unwrap();
    for graph in [&low, &high] {
        let stream = runtime.create_stream(0).unwrap();
        runtime.launch(graph, logs.clone(), LaunchOptions::on(stream)).unwrap();
    }
    runtime.set_priority(&gate, -1).unwrap();
    go.send(()).unwrap();
    runtime.sync_all().unwrap();
    let order = order.lock().unwrap();
    let last_high = order.iter().rposition(|name| name == "HIGH").unwrap();
    assert_eq!(order[..6], ["HIGH"; 6].map(String::from), "{last_high}");
}

/// ISA-FE-02: a kernel that stays resident keeps its cores and is not dispatched again for as many launches as it says.
#[test]
fn a_resident_kernel_is_not_dispatched_again() {
    for (duration, dispatches) in [(0, 1), (1, 4), (2, 2)] {
        let mut build = Build::new("G");
        let stays = build.kernel("STAYS", 3, CoreType::Aic);
        let comes = build.kernel("COMES", 2, CoreType::Aic);
        build.edge(stays, comes);
        build.info(stays).persistent = Some(duration);
        let graph = build.finish();
        let runtime = with_cores(2, counts(8, 8, 1), Hints::Ignore);
        let bodies = Script::idle();
        for _ in 0..4 {
            launch(&runtime, &graph, &bodies);
        }
        let stats = runtime.sync_graph(&graph).unwrap();
        assert_eq!((stats.kernels, stats.dispatches), (8, 4 + dispatches));
        let again = bodies.log().iter().filter(|entry| *entry == "=STAYS").count() as u64;
        assert_eq!(again, 4 - dispatches, "it keeps what it was dispatched with");
        let trace = runtime.take_trace().unwrap();
        assert_eq!(validate(&graph, &trace), []);
        let resident: Vec<bool> =
            trace.runs.iter().filter(|run| run.name == "STAYS").map(|run| run.is_resident).collect();
        assert_eq!(resident.iter().filter(|is| **is).count() as u64, again);
        if duration == 0 {
            assert!(cores_of(&trace, "STAYS").0.len() <= 3, "always the same cores");
        }
    }
}

/// ISA-FE-02: cores of resident kernels do not keep a gang from starting that needs the whole device.
#[test]
fn resident_kernels_give_way_to_a_gang() {
    let mut build = Build::new("G");
    let stays = build.kernel("STAYS", 2, CoreType::Aic);
    build.info(stays).persistent = Some(0);
    let resident = build.finish();
    let mut build = Build::new("GANG");
    let members: Vec<u32> = ["A", "B"].map(|name| build.kernel(name, 2, CoreType::Aic)).to_vec();
    build.gang(&members);
    let gang = build.finish();
    let runtime = with_cores(2, counts(4, 4, 1), Hints::Ignore);
    for graph in [&resident, &gang, &resident] {
        launch(&runtime, graph, &Script::idle());
    }
    assert_eq!(runtime.sync_all().unwrap().launches, 3);
    drop(resident);
    launch(&runtime, &gang, &Script::idle());
    assert!(runtime.sync_all().is_ok());
}
