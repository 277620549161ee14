//! Graphs, launches and streams.

use super::common::{all, inputs, integers, kernels, refusal, session, session_with, threads, unit, values};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use wsp_core::DType;
use wsp_core::tg::GraphNo;
use wsp_cpu::tg::{Session, SessionOptions};
use wsp_plan::Array;
use wsp_runtime::tg::{RuntimeConfig, Tracing};

const CHAIN: &str = "
extern X: i64[8]
extern Y: i64[8]
TG_BEGIN(G)
  MC_ALLOC(T, 64)
  TG_KERNEL(A, double, 4, AIV, 0)
  TG_KERNEL(B, double, 2, AIC, 0)
  TG_DEPEND(A, B, DATA, T)
  MC_BIND(A, 0, X)
  MC_BIND(A, 1, T)
  MC_BIND(B, 0, T)
  MC_BIND(B, 1, Y)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
";

/// ISA-TG-01, ISA-TG-08, ISA-TG-17, ISA-TG-18, ISA-MC-01, ISA-MC-06, ISA-IMP-09.
#[test]
fn a_graph_of_two_kernels_gives_the_right_numbers() {
    let given = inputs(&[("X", &[1, 2, 3, 4, 5, 6, 7, 8])]);
    let mut session = session(CHAIN, SessionOptions { inputs: given, ..threads(2) });
    let report = session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&session, "Y"), [4, 8, 12, 16, 20, 24, 28, 32]);
    assert_eq!((report.stats.launches, report.stats.kernels, report.stats.blocks), (1, 2, 6));
    let outputs = session.outputs().expect("nothing is in flight");
    assert!(outputs.keys().eq(["Y"]), "what it writes, and neither what it reads nor what is its own");
}

/// ISA-TG-24: every edge of the graph is kept in the trace of a run.
#[test]
fn a_trace_keeps_the_order_of_the_edges() {
    let options = SessionOptions {
        inputs: inputs(&[("X", &[1; 8])]),
        runtime: RuntimeConfig { threads: 3, tracing: Tracing::On, ..RuntimeConfig::default() },
        ..SessionOptions::default()
    };
    let mut session = session(CHAIN, options);
    let trace = session.run().expect("it runs").trace.expect("it was recorded");
    assert_eq!(session.check_trace(&trace), Vec::<String>::new());
    let spans = trace.spans();
    let of = |name: &str| {
        let at = trace.runs.iter().position(|run| run.name == name).expect("it ran");
        spans[at].expect("it has blocks")
    };
    assert!(of("A").1 <= of("B").0);
}

/// ISA-TG-10.
#[test]
fn an_entry_symbol_without_a_kernel_is_refused_with_the_nearest_name() {
    let text = CHAIN.replace("B, double", "B, duoble");
    let faults = refusal(&text, threads(1));
    let said = all(&faults);
    assert!(said.contains("WSP1540") && said.contains("did you mean `double`?"), "{said}");
}

/// ISA-TG-26: a unit that launches nothing has each graph launched once, which a note says.
#[test]
fn a_unit_without_launches_runs_every_graph_once() {
    let text = CHAIN.replace("TG_LAUNCH(G, default)\nTG_SYNC(G)\n", "");
    let mut session = session(&text, SessionOptions { inputs: inputs(&[("X", &[1; 8])]), ..threads(1) });
    let report = session.run().expect("it runs");
    assert_eq!(values(&session, "Y"), [4; 8]);
    assert!(all(&report.notes).contains("WSP1563"));
}

/// ISA-IMP-10: what is read from a binary runs as what it was written from.
#[test]
fn a_unit_from_a_binary_gives_the_same_results() {
    let module = unit(CHAIN);
    let bytes = wsp_isa::tg::binary::encode(&module).expect("it can be written");
    let read = wsp_isa::tg::binary::decode("test.ptog", &bytes).expect("it can be read");
    let run = |module| {
        let options = SessionOptions { inputs: inputs(&[("X", &[3, 1, 4, 1, 5, 9, 2, 6])]), ..threads(2) };
        let mut session = Session::new(module, &kernels(), options).expect("it is valid");
        session.run().expect("it runs");
        values(&session, "Y")
    };
    assert_eq!(run(&module), run(&read));
}

/// ISA-TG-14: the workspace of a kernel has the bytes it asks for, for all blocks together.
#[test]
fn a_kernel_gets_its_workspace() {
    let mut kernels = kernels();
    kernels.replace("one", None, |cx| {
        assert_eq!(cx.workspace_bytes(), 96);
        let block = cx.block() as usize;
        cx.store_workspace(block, &[block as i64 + 10])?;
        let mut back = [0i64];
        cx.load_workspace(block, &mut back)?;
        assert!(cx.load_workspace::<i64>(12, &mut back).is_err());
        cx.store(0, block, &back)
    });
    let text = "extern Y: i64[4]\nTG_BEGIN(G)\nTG_KERNEL(A, one, 4, AIV, 96)\nMC_BIND(A, 0, Y, direction = OUT)\nTG_END(G)";
    let mut session = session_with(text, &kernels, threads(2));
    session.run().expect("it runs");
    assert_eq!(values(&session, "Y"), [10, 11, 12, 13]);
}

/// A door that a kernel waits at.
#[derive(Default)]
struct Door {
    open: Mutex<bool>,
    opened: Condvar,
    reached: AtomicBool,
}

impl Door {
    fn pass(&self) {
        self.reached.store(true, Ordering::SeqCst);
        let mut open = self.open.lock().expect("nobody panics while holding it");
        while !*open {
            open = self.opened.wait(open).expect("nobody panics while holding it");
        }
    }

    fn open(&self) {
        *self.open.lock().expect("nobody panics while holding it") = true;
        self.opened.notify_all();
    }
}

/// ISA-TG-22, ISA-TG-26.
#[test]
fn a_launch_returns_while_its_kernel_runs_and_a_sync_waits() {
    let (door, mut kernels) = (Arc::new(Door::default()), kernels());
    let waiting = Arc::clone(&door);
    kernels.replace("one", super::common::signature(&[wsp_core::tg::Direction::Out]), move |cx| {
        waiting.pass();
        cx.store(0, 0, &[7i64])
    });
    let text = "extern Y: i64[1]\nTG_BEGIN(G)\nTG_KERNEL(A, one, 1, AIV, 0)\nMC_BIND(A, 0, Y)\nTG_END(G)";
    let mut session = session_with(text, &kernels, threads(1));
    let graph = session.graph("G").expect("it exists");
    session.launch(graph, session.default_stream()).expect("it starts");
    // The kernel cannot have ended: nobody has opened its door.
    assert!(all(&[*session.tensor("Y").unwrap_err()]).contains("WSP1554"));
    door.open();
    session.sync(graph).expect("it ends");
    assert_eq!(values(&session, "Y"), [7]);
}

/// ISA-TG-25: graphs on different streams overlap: each waits until the other has started.
#[test]
fn graphs_on_different_streams_overlap() {
    let mut kernels = kernels();
    let barrier = Arc::new(std::sync::Barrier::new(2));
    kernels.replace("one", super::common::signature(&[wsp_core::tg::Direction::Out]), move |cx| {
        barrier.wait();
        cx.store(0, 0, &[1i64])
    });
    let graph = |name: &str, tensor: &str| {
        format!("TG_BEGIN({name})\nTG_KERNEL(A, one, 1, AIV, 0)\nMC_BIND(A, 0, {tensor})\nTG_END({name})\n")
    };
    let text = format!(
        "extern X: i64[1]\nextern Y: i64[1]\n{}{}TG_LAUNCH(G, s1)\nTG_LAUNCH(H, s2)\nTG_SYNC(G)\nTG_SYNC(H)\n",
        graph("G", "X"),
        graph("H", "Y")
    );
    let mut session = session_with(&text, &kernels, threads(2));
    session.run().expect("both run");
    assert_eq!((values(&session, "X"), values(&session, "Y")), (vec![1], vec![1]));
}

/// ISA-TG-25, ISA-TG-27: launches of one stream run one after the other.
#[test]
fn launches_of_a_stream_run_in_order() {
    let text = "extern X: i64[16]\nTG_BEGIN(G)\nTG_KERNEL(A, inc, 4, AIV, 0)\nMC_BIND(A, 0, X)\nTG_END(G)\nCF_LOOP(50, i)\nTG_LAUNCH(G, s)\nCF_ENDLOOP\nTG_SYNC(G)";
    let mut session = session(text, threads(4));
    let report = session.run().expect("it runs");
    assert_eq!(values(&session, "X"), [50; 16]);
    assert_eq!(report.stats.launches, 50);
}

/// ISA-TG-23, ISA-TG-29.
#[test]
fn unknown_graphs_and_stale_streams_are_refused() {
    let mut session = session(CHAIN, SessionOptions { inputs: inputs(&[("X", &[1; 8])]), ..threads(1) });
    assert!(session.graph("H").is_err());
    assert!(session.launch(GraphNo(7), session.default_stream()).is_err());
    let (graph, stream) = (session.graph("G").unwrap(), session.create_stream().expect("there is room"));
    session.launch(graph, stream).expect("the stream exists");
    session.destroy_stream(stream).expect("it exists");
    let fault = session.launch(graph, stream).expect_err("it is gone");
    assert!(all(&[*fault]).contains("WSP1552"));
    assert!(session.destroy_stream(session.default_stream()).is_err());
    session.sync(graph).expect("the launch goes on");
    assert_eq!(values(&session, "Y"), [4; 8]);
}

/// ISA-TG-26: waiting for what was never launched is an error.
#[test]
fn a_sync_before_any_launch_is_refused() {
    let mut session = session(CHAIN, SessionOptions { inputs: inputs(&[("X", &[1; 8])]), ..threads(1) });
    let graph = session.graph("G").unwrap();
    assert!(all(&[*session.sync(graph).unwrap_err()]).contains("WSP1551"));
}

/// ISA-TG-26.
#[test]
fn a_failing_kernel_fails_the_sync_and_the_session_goes_on() {
    let text = "extern X: i64[4]\nTG_BEGIN(BAD)\nTG_KERNEL(F, fail, 1, AIV, 0)\nTG_KERNEL(A, inc, 1, AIV, 0)\nTG_DEPEND(F, A, DATA, X)\nMC_BIND(F, 0, X)\nMC_BIND(A, 0, X)\nTG_END(BAD)\nTG_BEGIN(GOOD)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, X)\nTG_END(GOOD)";
    let mut session = session(text, threads(2));
    let (bad, good) = (session.graph("BAD").unwrap(), session.graph("GOOD").unwrap());
    session.invoke(bad, 3).expect("it starts");
    let said = all(&[*session.sync(bad).expect_err("its kernel fails")]);
    for part in ["WSP1542", "kernel `F` failed: as it should", "block 0 of 1", "graph `BAD`, iteration 3"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert_eq!(values(&session, "X"), [0; 4], "what comes after a failure is not run");
    session.invoke(good, 0).expect("it starts");
    session.sync(good).expect("the session goes on");
    assert_eq!(values(&session, "X"), [1; 4]);
}

#[test]
fn a_panic_in_a_kernel_is_caught() {
    let mut kernels = kernels();
    kernels.replace("inc", None, |_| panic!("out of cheese"));
    let text = "extern X: i64[4]\nTG_BEGIN(G)\nTG_KERNEL(F, inc, 1, AIV, 0)\nMC_BIND(F, 0, X)\nTG_END(G)";
    let mut session = session_with(text, &kernels, threads(1));
    let said = all(&session.run().expect_err("it panics"));
    assert!(said.contains("WSP1543") && said.contains("out of cheese"), "{said}");
}

/// Work that gives different numbers in any other order: `x` and `y` feed each other through four levels.
fn mesh() -> String {
    let mut text = String::from("extern S: i64[64]\nTG_BEGIN(G)\n");
    for level in 0..6 {
        for column in 0..4 {
            text += &format!("MC_ALLOC(T{level}_{column}, 512)\n");
        }
    }
    for level in 0..6 {
        for column in 0..4 {
            let name = format!("K{level}_{column}");
            let (a, b) = match level {
                0 => ("S".to_owned(), "S".to_owned()),
                _ => (format!("T{}_{column}", level - 1), format!("T{}_{}", level - 1, (column + 1) % 4)),
            };
            text += &format!("TG_KERNEL({name}, add, {}, AIV, 0)\n", column + 1);
            text += &format!(
                "MC_BIND({name}, 0, {a})\nMC_BIND({name}, 1, {b})\nMC_BIND({name}, 2, T{level}_{column})\n"
            );
            if level > 0 {
                for from in [column, (column + 1) % 4] {
                    text += &format!("TG_DEPEND(K{}_{from}, {name}, DATA)\n", level - 1);
                }
            }
        }
    }
    text += "TG_KERNEL(OUT, add, 8, AIC_AIV, 0)\nMC_BIND(OUT, 0, T5_0)\nMC_BIND(OUT, 1, T5_2)\nMC_BIND(OUT, 2, R)\n";
    text += "TG_DEPEND(K5_0, OUT, DATA)\nTG_DEPEND(K5_2, OUT, DATA)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\n";
    format!("extern R: i64[64]\n{text}")
}

/// ISA-TG-24, ISA-EM-03: results do not depend on the number of threads.
#[test]
fn results_are_the_same_for_any_number_of_threads() {
    let text = mesh();
    let given: Vec<i64> = (0..64).map(|i| i * i - 7 * i).collect();
    let result = |count| {
        let mut session =
            session(&text, SessionOptions { inputs: inputs(&[("S", &given)]), ..threads(count) });
        session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
        values(&session, "R")
    };
    let expected: Vec<i64> = given.iter().map(|x| 64 * 2 * x).collect();
    for count in 1..=8 {
        assert_eq!(result(count), expected, "{count} threads");
    }
}

/// ISA-TG-20: a `SOFT` edge changes nothing.
#[test]
fn soft_edges_change_no_result() {
    let text = mesh();
    let soft = text.replace("TG_END(G)", "TG_DEPEND(OUT, K0_0, SOFT)\nTG_END(G)");
    let given: Vec<i64> = (0..64).collect();
    let result = |text: &str| {
        let mut session = session(text, SessionOptions { inputs: inputs(&[("S", &given)]), ..threads(3) });
        session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
        values(&session, "R")
    };
    assert_eq!(result(&text), result(&soft));
}

/// ISA-FE-03.
#[test]
fn graphs_with_priority_go_first() {
    let graph = |name: &str| {
        format!("TG_BEGIN({name})\nTG_KERNEL(A, one, 1, AIV, 0)\nMC_BIND(A, 0, X{name})\nTG_END({name})\n")
    };
    let text = format!(
        "extern XG: i64[1]\nextern XH: i64[1]\nextern XD: i64[1]\n{}{}{}",
        graph("D"),
        graph("G"),
        graph("H")
    );
    let (door, order, mut kernels) = (Arc::new(Door::default()), Arc::new(Mutex::new(Vec::new())), kernels());
    let (waiting, log) = (Arc::clone(&door), Arc::clone(&order));
    kernels.replace("one", super::common::signature(&[wsp_core::tg::Direction::Out]), move |cx| {
        let name = cx.iteration();
        if name == 0 {
            waiting.pass();
        }
        log.lock().unwrap().push(name);
        Ok(())
    });
    let mut session = session_with(&text, &kernels, threads(1));
    let [d, g, h] = ["D", "G", "H"].map(|name| session.graph(name).expect("it exists"));
    session.set_priority(h, 5).expect("it exists");
    session.set_priority(g, -5).expect("it exists");
    // The one thread is held at the door while the others become ready.
    session.invoke(d, 0).expect("it starts");
    while !door.reached.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    let (s1, s2) = (session.create_stream().unwrap(), session.create_stream().unwrap());
    session.invoke_on(g, 1, s1).expect("it starts");
    session.invoke_on(h, 2, s2).expect("it starts");
    door.open();
    [d, g, h].into_iter().for_each(|graph| session.sync(graph).expect("it ends"));
    assert_eq!(*order.lock().unwrap(), [0, 2, 1]);
}

#[test]
fn a_cancelled_session_says_so() {
    let flag = Arc::new(AtomicBool::new(true));
    let options = SessionOptions {
        inputs: inputs(&[("X", &[1; 8])]),
        runtime: RuntimeConfig { cancel: Some(flag), ..RuntimeConfig::default() },
        ..SessionOptions::default()
    };
    let said = all(&session(CHAIN, options).run().expect_err("it is cancelled"));
    assert!(said.contains("WSP1565"), "{said}");
}

/// Loops in which nothing runs see that the run is cancelled: the first kernel cancels it, and the loop behind it would go on for hours.
#[test]
fn loops_in_which_nothing_runs_can_be_cancelled() {
    let graph = |body: &str| {
        format!(
            "extern F: i64[1]\nextern H: i64[1]\nTG_BEGIN(G)\nTG_KERNEL(A, stop, 1, AIV, 0)\nMC_BIND(A, 0, F)\n{body}TG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\n"
        )
    };
    let forever = i64::from(u32::MAX - 1);
    let in_graph = [
        "CF_WHILE(load(F, 0, i64))\nCF_ENDWHILE\n",
        "CF_LOOP(load(F, 0, i64), i)\nCF_ENDLOOP\n",
        "CF_LOOP(load(F, 0, i64), i)\nCF_LOOP(2, j)\nCF_ENDLOOP\nCF_ENDLOOP\n",
        "CF_LOOP(load(F, 0, i64), i)\nCF_IF(i < 0)\nTG_KERNEL(B, inc, 1, AIV, 0)\nMC_BIND(B, 0, H)\nCF_ENDIF\nCF_ENDLOOP\n",
    ];
    let host = [
        "CF_WHILE(load(F, 0, i64))\nCF_ENDWHILE\n",
        "CF_WHILE(1)\nCF_ENDWHILE\n",
        "CF_LOOP(load(F, 0, i64), i)\nCF_ENDLOOP\n",
        "CF_LOOP(9000000000000000000, i)\nCF_ENDLOOP\n",
    ];
    let texts = in_graph.iter().map(|body| graph(body)).chain(host.iter().map(|rest| graph("") + rest));
    for text in texts {
        let flag = Arc::new(AtomicBool::new(false));
        let mut kernels = super::common::kernels();
        let raised = flag.clone();
        kernels
            .register("stop", super::common::signature(&[wsp_core::tg::Direction::Out]), move |cx| {
                raised.store(true, std::sync::atomic::Ordering::Relaxed);
                cx.store(0, 0, &[forever])
            })
            .expect("it is registered once");
        let options = SessionOptions {
            runtime: RuntimeConfig { cancel: Some(flag), ..RuntimeConfig::default() },
            ..SessionOptions::default()
        };
        let mut session = super::common::session_with(&text, &kernels, options);
        let said = all(&session.run().expect_err("it is cancelled"));
        assert!(said.contains("WSP1565"), "{said}");
    }
}

#[test]
fn inputs_that_do_not_fit_are_refused_by_name() {
    let refused = |given| all(&refusal(CHAIN, SessionOptions { inputs: given, ..threads(1) }));
    assert!(refused(inputs(&[])).contains("no array is given for external tensor `X`"));
    assert!(refused(inputs(&[("X", &[1; 7])])).contains("has the shape [7]"));
    let other = refused(inputs(&[("X", &[1; 8]), ("Z", &[1])]));
    assert!(
        other.contains("takes no array `Z`") && other.contains("leave `Z` out, or give it the name"),
        "{other}"
    );
    let mut session = session(CHAIN, SessionOptions { inputs: inputs(&[("X", &[1; 8])]), ..threads(1) });
    assert!(session.set_tensor("X", &integers(&[1; 9])).is_err());
    let floats = Array::zeros(DType::F64, &[8]).expect("it is small");
    let fault = session.set_tensor("X", &floats).expect_err("it has other elements");
    assert!(format!("{fault:?}").contains("has `f64` elements, and the tensor `i64`"), "{fault:?}");
    session.set_tensor("X", &integers(&[5; 8])).expect("it fits");
    session.run().expect("it runs");
    assert_eq!(values(&session, "Y"), [20; 8]);
}

/// A tensor that says nothing of its elements takes arrays of its size.
#[test]
fn an_array_of_another_size_than_its_tensor_is_refused() {
    let text = format!("MC_ALLOC(S, 16)\n{CHAIN}");
    let mut session = session(&text, SessionOptions { inputs: inputs(&[("X", &[1; 8])]), ..threads(1) });
    let fault = session.set_tensor("S", &integers(&[1; 3])).expect_err("it is too large");
    assert!(format!("{fault:?}").contains("has 24 bytes, and the tensor 16"), "{fault:?}");
    session.set_tensor("S", &integers(&[1; 2])).expect("it fits");
}

#[test]
fn a_statement_of_the_host_without_a_value_is_named_with_its_place() {
    let text = format!("arg N: i64 = 0\n{}", CHAIN.replace("TG_LAUNCH", "CF_IF(8 / N)\nCF_ENDIF\nTG_LAUNCH"));
    let options = SessionOptions { inputs: inputs(&[("X", &[1; 8])]), ..threads(1) };
    let faults = session(&text, options).run().expect_err("nothing can be divided by zero");
    assert!(faults[0].primary.is_some(), "{faults:?}");
}

/// ISA-MC-01: what is surely read before it is written is given; only what is written first begins with zeros.
#[test]
fn an_external_tensor_that_is_read_before_it_is_written_must_be_given() {
    let head = "extern X: i64[8]\nextern T: i64[8]\nextern Y: i64[8]\n";
    let kernel = |name: &str, of: &str, binds: &[&str]| {
        let binds: String =
            (0..).zip(binds).map(|(n, tensor)| format!("MC_BIND({name}, {n}, {tensor})\n")).collect();
        format!("TG_KERNEL({name}, {of}, 1, AIV, 0)\n{binds}")
    };
    let graph = |name: &str, body: &str| format!("TG_BEGIN({name})\n{body}TG_END({name})\n");
    let (one, inc) = (kernel("A", "one", &["T"]), kernel("B", "inc", &["T"]));
    let copy = kernel("B", "copy", &["T", "Y"]);
    let edge = "TG_DEPEND(A, B, DATA, T)\n";
    let rounds =
        format!("CF_LOOP(N, i, SEQUENTIAL)\n{}CF_ENDLOOP\n", one.replace("0, T)", "0, T, 8 * i, 8)"));
    let launch = |names: &[&str]| -> String {
        names.iter().map(|name| format!("TG_LAUNCH({name}, default)\nTG_SYNC({name})\n")).collect()
    };
    let begin = |text: &str| Session::new(&unit(text), &kernels(), threads(1)).map(|_| ());
    let refused = [
        // Read and written by one kernel.
        format!("{head}{}{}", graph("G", &inc), launch(&["G"])),
        // Written in part.
        format!(
            "{head}{}{}",
            graph("G", &format!("{}{copy}{edge}", one.replace("0, T)", "0, T, 8)"))),
            launch(&["G"])
        ),
        // Written by what comes behind.
        format!(
            "{head}{}{}",
            graph("G", &format!("{one}{copy}{}", "TG_DEPEND(B, A, AFTER)\n")),
            launch(&["G"])
        ),
        // Written by a loop behind it.
        format!(
            "{head}arg N: i64 = 2\n{}{}",
            graph(
                "G",
                &format!("{copy}CF_LOOP(N, i, SEQUENTIAL)\n{one}CF_ENDLOOP\nTG_DEPEND(B, A, AFTER)\n")
            ),
            launch(&["G"])
        ),
        // Read and written by rounds.
        format!(
            "{head}{}{}",
            graph("G", &format!("CF_LOOP(8, i)\n{}CF_ENDLOOP\n", inc.replace("0, T)", "0, T, 8 * i, 8)"))),
            launch(&["G"])
        ),
        // Written by a later launch.
        format!("{head}{}{}{}", graph("G", &one), graph("H", &copy), launch(&["H", "G"])),
        // Written in an arm, by rounds and by a launch that the values of the run leave out.
        format!(
            "{head}arg N: i64 = 0\n{}{}",
            graph("G", &format!("CF_IF(N)\n{one}CF_ENDIF\n{copy}{edge}")),
            launch(&["G"])
        ),
        format!(
            "{head}arg N: i64 = 0\n{}{}",
            graph("G", &format!("CF_LOOP(N, i)\n{one}CF_ENDLOOP\n{copy}{edge}")),
            launch(&["G"])
        ),
        format!(
            "{head}arg N: i64 = 0\n{}{}CF_IF(N)\n{}CF_ENDIF\n{}",
            graph("G", &one),
            graph("H", &copy),
            launch(&["G"]),
            launch(&["H"])
        ),
        format!(
            "{head}{}{}{}",
            graph("G", &format!("CF_IF(iteration == 1)\n{one}CF_ENDIF\n")),
            graph("H", &copy),
            launch(&["G", "H"])
        ),
        // The same where the host launches nothing, so that each graph is launched once.
        format!(
            "{head}{}{}",
            graph("G", &format!("CF_IF(iteration == 1)\n{one}CF_ENDIF\n")),
            graph("H", &copy)
        ),
        // Of eight elements seven are written.
        format!("{head}arg N: i64 = 7\n{}{}", graph("G", &format!("{rounds}{copy}{edge}")), launch(&["G"])),
        format!(
            "{head}arg N: i64 = 8\n{}{}",
            graph("G", &format!("{}{copy}{edge}", one.replace("0, T)", "0, T, N, 56)"))),
            launch(&["G"])
        ),
        // A round reads what the round behind it writes.
        format!(
            "{head}arg N: i64 = 4\n{}{}",
            graph(
                "G",
                &format!(
                    "CF_LOOP(N, i, SEQUENTIAL)\n{}{}TG_DEPEND(B, A, AFTER)\nCF_ENDLOOP\n",
                    copy.replace("0, T)", "0, T, 8 * i, 8)").replace("1, Y)", "1, Y, 0, 8)"),
                    one.replace("0, T)", "0, T, 8 * i, 8)")
                )
            ),
            launch(&["G"])
        ),
    ];
    for text in &refused {
        let found = all(&begin(text).expect_err(text));
        assert!(
            found.contains("WSP1546") && found.contains("external tensor `T`, which is read"),
            "{text}{found}"
        );
    }
    let accepted = [
        format!("{head}{}{}", graph("G", &format!("{one}{copy}{edge}")), launch(&["G"])),
        // Written by rounds, and under a condition.
        format!(
            "{head}arg N: i64 = 1\n{}{}",
            graph(
                "G",
                &format!(
                    "CF_IF(N)\nCF_LOOP(8, i)\n{}CF_ENDLOOP\nCF_ENDIF\n{copy}TG_DEPEND(A, B, DATA, T)\n",
                    one.replace("0, T)", "0, T, 8 * i, 8)")
                )
            ),
            launch(&["G"])
        ),
        // Read only in another iteration.
        format!("{head}{}", graph("G", &format!("CF_IF(iteration == 1)\n{inc}CF_ENDIF\n"))),
        // Each graph is launched once, in order.
        format!("{head}{}{}", graph("G", &one), graph("H", &copy)),
        format!("{head}{}{}{}", graph("G", &one), graph("H", &copy), launch(&["G", "H"])),
        format!(
            "{head}arg N: i64 = 2\n{}{}CF_LOOP(N, i)\n{}CF_ENDLOOP\n",
            graph("G", &one),
            graph("H", &copy),
            launch(&["G", "H"])
        ),
        format!("{head}arg N: i64 = 8\n{}{}", graph("G", &format!("{rounds}{copy}{edge}")), launch(&["G"])),
        // What is read in an arm and by rounds that the values of the run leave out.
        format!(
            "{head}arg N: i64 = 0\n{}{}",
            graph(
                "G",
                &format!(
                    "CF_IF(N)\n{copy}CF_ENDIF\nCF_LOOP(N, i)\n{}CF_ENDLOOP\n{one}",
                    copy.replace("(B,", "(C,")
                )
            ),
            launch(&["G"])
        ),
        format!(
            "{head}arg N: i64 = 0\n{}{}CF_IF(N)\n{}CF_ENDIF\n{}",
            graph("G", &one),
            graph("H", &copy),
            launch(&["H"]),
            launch(&["G", "H"])
        ),
        // A round reads what the round before it has written.
        format!(
            "{head}arg N: i64 = 4\n{}{}",
            graph(
                "G",
                &format!(
                    "{}TG_DEPEND(C, B, AFTER)\nCF_LOOP(N, i, SEQUENTIAL)\n{}{}TG_DEPEND(B, A, AFTER)\nCF_ENDLOOP\n",
                    one.replace("(A,", "(C,").replace("0, T)", "0, T, 0, 8)"),
                    copy.replace("0, T)", "0, T, 8 * i, 8)").replace("1, Y)", "1, Y, 0, 8)"),
                    one.replace("0, T)", "0, T, 8 * i + 8, 8)")
                )
            ),
            launch(&["G"])
        ),
    ];
    for text in &accepted {
        begin(text).unwrap_or_else(|found| panic!("{text}{}", all(&found)));
    }
    // What is loaded decides.
    let text = format!(
        "{head}{}{}",
        graph("G", &format!("CF_IF(load(X, 0, i64))\n{one}CF_ENDIF\n{copy}{edge}")),
        launch(&["G"])
    );
    let options = SessionOptions { inputs: inputs(&[("X", &[0; 8])]), ..threads(1) };
    Session::new(&unit(&text), &kernels(), options).unwrap_or_else(|found| panic!("{text}{}", all(&found)));
}
