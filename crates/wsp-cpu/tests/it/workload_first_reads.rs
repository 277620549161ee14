//! Tensors that tasks read and of which only a run knows whether tasks wrote what is read.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::workloads::{WIDE, plan, program, report};
use wsp_backend::Absent;
use wsp_backend::Recording;
use wsp_core::DType;
use wsp_cpu::workload::{KernelRegistry, WorkloadInputs, WorkloadOptions, WorkloadProgram};
use wsp_diag::Code;
use wsp_plan::{Array, ParamValue};

const KERNELS: &str = "param p = 0; tensor t: u32[4]; tensor y: u32[4]; slot s = 0;
    axis rows = dense(2); table indptr = [0, 0, 1]; table indices = [3]; axis none = sparse(rows, indptr, indices);
    kernel make(out t); kernel more(inout t); kernel take(in t, out y);";

/// A workload over `t` and `y` with bodies: `make` stores 1, `more` adds 1, `take` copies.
fn bodies(main: &str) -> WorkloadProgram {
    let mut kernels = KernelRegistry::new();
    kernels
        .register("make", |cx| {
            let elements = cx.shape(0)?.iter().product();
            cx.store(0, &vec![1u32; elements])
        })
        .unwrap();
    kernels
        .register("more", |cx| {
            let more: Vec<u32> = cx.load::<u32>(0)?.iter().map(|x| x + 1).collect();
            cx.store(0, &more)
        })
        .unwrap();
    // What a body makes of a refused load is its own affair.
    kernels
        .register("take", |cx| {
            let elements = cx.load::<u32>(0).unwrap_or_else(|_| vec![9; 4]);
            cx.store(1, &elements)
        })
        .unwrap();
    program(&format!("{KERNELS} workload perhaps(c) {{ if c {{ make(t); }} }} workload perhaps_take(c) {{ if c {{ take(t, y); }} }} workload main {{ {main} }}"))
        .with_kernels(kernels)
        .unwrap()
}

fn given(p: i128) -> WorkloadInputs {
    WorkloadInputs { set: vec![("p".to_owned(), ParamValue::Int(p))], ..WorkloadInputs::default() }
}

/// Every way to run.
fn ways() -> [WorkloadOptions; 4] {
    let sequential = WorkloadOptions { sequential: true, ..WorkloadOptions::default() };
    let recording = WorkloadOptions { recording: Recording::On, ..WIDE };
    [WIDE, recording, sequential, WorkloadOptions { aicpus: 2, ..WorkloadOptions::default() }]
}

#[test]
fn a_load_of_what_no_task_has_stored_stops_the_run() {
    for (main, first) in [
        ("if p { make(t); } take(t, y);", 0),
        ("if p == 0 { take(t, y); } else { make(t); }", 0),
        ("for i in 0..p { make(t); } take(t, y);", 0),
        ("while p > s max 1 { make(t); } take(t, y);", 0),
        ("select j in none[0] { make(t); } take(t, y);", 0),
        ("if p { make(t); } else { make(t[0..3]); } take(t, y);", 3),
        ("make(t[0..2]); make(t[3]); take(t, y);", 2),
        ("make(t[1]); more(t[0]); take(t, y);", 0),
        ("call perhaps(0); call perhaps(p); take(t, y);", 0),
        ("for i in 0..2 { if i + p > 0 { more(t); } else { make(t[0..1]); } } take(t, y);", 1),
        ("for i in 0..3 { if i + p < 3 { take(t, y); } make(t); }", 0),
    ] {
        for options in ways() {
            let faults = bodies(main).execute(&given(0), &options).unwrap_err();
            let text = report(&faults);
            assert_eq!(faults[0].code, Code(616), "{main}: {text}");
            assert!(text.contains("`t` is loaded where no task has stored anything"), "{main}: {text}");
            assert!(text.contains(&format!("the first such element is t[{first}]")), "{main}: {text}");
            for part in ["--input t=FILE.npy", "--fill t", "in the task with the indices"] {
                assert!(text.contains(part), "{main}: {text}");
            }
        }
    }
}

#[test]
fn what_tasks_wrote_under_conditions_and_in_parts_is_read() {
    for (main, p, expected) in [
        ("if p { make(t); } take(t, y);", 1, 1),
        ("if p { make(t); } else { make(t); more(t); } take(t, y);", 0, 2),
        ("for i in 0..3 { if i == 0 { make(t); } else { more(t); } } take(t, y);", 0, 3),
        ("for i in 0..3 { if i > 0 { more(t); } else { make(t); } } take(t, y);", 0, 3),
        ("call perhaps(p); call perhaps(p); take(t, y);", 1, 1),
        ("if p { make(t); } if p { more(t); } if p == 0 { make(t); } take(t, y);", 1, 2),
        ("parallel for i in 0..4 { make(t[i]); } take(t, y);", 0, 1),
        ("pipeline { process a { for i in 0..p { make(t); } } process b { } } take(t, y);", 1, 1),
        ("for i in 0..3 { if i > 0 { take(t, y); } make(t); }", 0, 1),
        ("for i in 0..3 { if i > 0 { more(t); } make(t); } take(t, y);", 0, 1),
        ("for i in 0..3 { for j in 0..i { take(t, y); } make(t); }", 0, 1),
        ("for i in 0..3 { select j in none[i > 0] { take(t, y); } make(t); }", 0, 1),
        ("for i in 0..3 { call perhaps_take(i); for j in 0..2 { make(t); } }", 0, 1),
        ("for i in 0..3 { if i > 1 { if p { take(t, y); } more(t); } else { make(t); } }", 1, 1),
        (
            "channel c[2]; pipeline {
              process uses { parallel for i in 0..3 { consume c as s { take(t, y); } } }
              process fills { parallel for i in 0..3 { send c as s { make(t); } } }
          }",
            0,
            1,
        ),
    ] {
        for options in ways() {
            let outcome = bodies(main).execute(&given(p), &options);
            let outputs = outcome.unwrap_or_else(|found| panic!("{main}: {}", report(&found))).outputs;
            assert_eq!(outputs["y"].as_slice::<u32>().unwrap(), [expected; 4], "{main}");
        }
    }
}

#[test]
fn what_the_first_task_reads_is_asked_for_before_the_run() {
    for main in [
        "for i in 0..3 { take(t, y); make(t); }",
        "for i in 0..3 { more(t); }",
        "for i in 0..3 { if i > 0 { more(t); } }",
        "for i in 0..3 { if i > 0 { more(t); } if i > 1 { more(t); } }",
        "for i in 0..3 { if i > 0 { take(t, y); } else { more(t); make(t); } }",
        "for i in 0..3 { if i > 0 { take(t, y); } } make(t);",
        "if p { take(t, y); } for i in 0..3 { make(t); }",
        "for k in 0..2 { for i in 0..p { take(t, y); } make(t); }",
        "for i in 0..3 { if i > 0 { take(t, y); } take(t, y); make(t); }",
        "channel c[2]; pipeline {
             process uses { parallel for i in 0..3 { consume c as s { more(t); } } }
             process fills { parallel for i in 0..3 { send c as s { make(y); } } }
         }",
        "channel c[2]; pipeline {
             process uses { take(t, y); parallel for i in 0..3 { consume c as s { } } }
             process fills { parallel for i in 0..3 { send c as s { make(t); } } }
         }",
    ] {
        let faults = bodies(main).execute(&given(1), &WIDE).unwrap_err();
        assert_eq!(faults[0].code, Code(550), "{main}: {}", report(&faults));
    }
}

#[test]
fn a_tensor_that_is_given_made_up_or_zeros_may_be_read() {
    let main = "if p { make(t); } take(t, y);";
    let mut sevens = Array::zeros(DType::U32, &[4]).unwrap();
    sevens.as_slice_mut::<u32>().unwrap().fill(7);
    let array = WorkloadInputs { arrays: [("t".to_owned(), sevens)].into(), ..given(0) };
    let made_up = WorkloadInputs { made_up: vec!["t".to_owned()], ..given(0) };
    let zeros = WorkloadInputs { absent: Absent::Zeros, ..given(0) };
    for options in ways() {
        let y = |inputs: &WorkloadInputs| {
            let outputs = bodies(main).execute(inputs, &options).unwrap().outputs;
            outputs["y"].as_slice::<u32>().unwrap().to_vec()
        };
        assert_eq!((y(&array), y(&zeros)), (vec![7; 4], vec![0; 4]));
        assert_ne!(y(&made_up), vec![0; 4]);
    }
}

#[test]
fn each_run_of_a_prepared_workload_looks_at_its_own_stores() {
    let sequential = WorkloadOptions { sequential: true, ..WorkloadOptions::default() };
    for options in [WIDE, sequential] {
        let mut prepared = bodies("if p { make(t); } take(t, y);").prepare(given(1), options).unwrap();
        for _ in 0..3 {
            prepared.run().unwrap_or_else(|found| panic!("{}", report(&found)));
        }
        prepared.rebind(given(0).set, [].into(), [].into()).unwrap();
        for _ in 0..2 {
            assert_eq!(prepared.run().unwrap_err()[0].code, Code(616));
        }
    }
}

#[test]
fn calls_that_double_at_each_level_are_walked_once() {
    let mut text = "param p = 0; tensor t: u32[4]; kernel k(inout t); workload w0() { k(t); } ".to_owned();
    for level in 1..40 {
        text += &format!("workload w{level}() {{ if p {{ call w{0}(); call w{0}(); }} }} ", level - 1);
    }
    let linked = plan(&format!("{text} workload main {{ call w39(); }}"));
    assert_eq!(linked.first_reads().needed.iter().collect::<Vec<_>>(), ["t"]);
}
