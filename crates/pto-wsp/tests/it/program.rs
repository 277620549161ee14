//! The face: a program of every kind of file, prepared, run, cancelled, advanced.

use pto_wsp::task_graph::TgKernels;
use pto_wsp::workload::{Deps, Rows};
use pto_wsp::{
    Absent, Advance, Args, Array, CompileOptions, DType, Expand, GraphOptions, Growth, KvLayout, Outcome,
    ParamValue, Program, ProgramKind, Recording, RunError, RunOptions, Source, SpaceOptions, WindowOverflow,
    WorkloadRunOptions,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const KERNELS: &str = "
PTO_SHAPE(x, 8)
PTO_SHAPE(y, 8)
PTO_PARAM(float, by, 2.0)
PTO_KERNEL_IMPL(scale_entry, Tensor<float> x, Tensor<float> y) {
    VecTile<float, 1, 8> t;
    TLOAD(t, x, {0});
    TMULS(t, t, by);
    TSTORE(y, t, {0});
}";

const UNIT: &str = "
use \"kernels.pto\"
extern X: f32[8]
extern Y: f32[8]
TG_BEGIN(G)
  TG_KERNEL(A, scale_entry, 1, AIV, 0)
  MC_BIND(A, 0, X, direction = IN)
  MC_BIND(A, 1, Y, direction = OUT)
TG_END(G)
TG_LAUNCH(G, stream)
TG_SYNC(G)
";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn eight() -> Args {
    Args::new().with("X", vec![1.5f32; 8])
}

#[test]
fn every_kind_of_file_is_a_program() {
    for (name, kind) in [
        ("row_softmax.pto", ProgramKind::Spaces),
        ("graphs/llama_flat.wsp", ProgramKind::Workload),
        ("power_iteration.tg", ProgramKind::Unit),
        ("deepseek_indexer.tg", ProgramKind::Unit),
    ] {
        let program = Program::open(example(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(program.kind(), kind, "{name}");
    }
    let missing = Program::open(example("none.pto")).expect_err("there is none");
    assert_eq!(missing.diagnostics()[0].code.0, 500, "{missing}");
    let other = Program::from_source("a.npy", *b"WOTP").expect_err("it is no source");
    assert!(other.to_string().contains("`.pto`, `.wsp`, `.tg`, `.ptog`, `.ptow` or `.ptows`"), "{other}");
    let broken = Program::from_source("a.ptow", *b"WOTP").expect_err("it is cut off");
    assert_eq!(broken.diagnostics()[0].code.0, 921, "{broken}");
}

/// A program that generates tasks takes what it lacks as arguments, and its kernels as functions or from a file.
#[test]
fn a_program_that_generates_tasks_is_a_program() {
    let text = ".value n\n.axis i dense 0 .. n\n.kernel scale vector\n.tensor x f32 2\n\
                PARALLEL_FOR i, body\nHALT\nbody:\nTASK scale\nPARAM_LOOPVAR i0\nIO_INOUT x[i0]\nEND\n";
    let scale = |by: i64, x: &mut [f32]| x.iter_mut().for_each(|x| *x *= by as f32);
    let bytes =
        wsp_isa::ptow::assemble("a.ptows", text, &mut pto_wsp::SourceMap::default()).expect("it is right");
    for source in [Source::text("a.ptows", text), Source::text("a.ptow", bytes.clone())] {
        let program = source.kernel("scale", scale).compile().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(program.kind(), ProgramKind::Workload);
        let x = pto_wsp::Array::of(&[3, 2], &[1.0f32; 6]).expect("it has six");
        let args = Args::new().with("x", x).with("n", 3).with("x_0", 3).with("x_1", 2);
        let outcome =
            program.execute(args.clone(), RunOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(outcome.outputs["x"].as_slice::<f32>(), Some(&[0.0, 0.0, 1.0, 1.0, 2.0, 2.0][..]));
        assert_eq!(program.graph(&args, &Default::default()).expect("it has three tasks").tasks.len(), 3);
        let lacks = program.execute(Args::new().with("n", 3), RunOptions::default()).expect_err("no extent");
        assert!(lacks.to_string().contains("`x_0`"), "{lacks}");
    }
    let kernels = "PTO_SHAPE(x, n, 2)\nstruct Row { uint32_t i; };\nPTO_SPACE(S) { PTO_AXIS(row, 0, n) }\n\
                   PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(r) { PTO_EMIT_DESCRIPTOR(Row{ .i = r }); } }\n\
                   PTO_KERNEL_IMPL(scale) {\n auto d = PTO_GET_DESCRIPTOR<Row>();\n VecTile<float, 1, 2> t;\n\
                   TLOAD(t, x, {d.i});\n TMULS(t, t, 5.0f);\n TSTORE(x, t, {d.i});\n}\n\
                   void entry(Tensor<float> x) { PTO_LAUNCH(S, { .x = x }); }\n";
    let calls = text.replace("IO_INOUT x[i0]\n", "").replace(".tensor x f32 2\n", "");
    let source = Source::text("a.ptows", calls).kernel_file("k.pto").file("k.pto", kernels);
    let program = source.compile().unwrap_or_else(|error| panic!("{error}"));
    let x = pto_wsp::Array::of(&[3, 2], &[1.0f32; 6]).expect("it has six");
    let outcome = program.execute(Args::new().with("x", x), RunOptions::default());
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.outputs["x"].as_slice::<f32>(), Some(&[5.0; 6][..]));
    let refused =
        Source::text("a.pto", "").kernel_file("k.pto").compile().expect_err("a program names its own");
    assert_eq!(refused.diagnostics()[0].code.0, 882, "{refused}");
}

#[test]
fn what_runs_the_tasks_is_told_for_every_kind_of_program() {
    let told = |program: &Program, options: &RunOptions| {
        let told = program.implementation(options).unwrap_or_else(|error| panic!("{error}"));
        told.into_iter().map(|(part, by)| format!("{part}: {by}")).collect::<Vec<_>>()
    };
    let with = |threads| RunOptions { threads, ..RunOptions::default() };
    let workload = "tensor x: f32[8]; kernel k(inout x); workload main { for i in 0..8 { k(x[i]); } } schedule { SCHEDULE }";
    let workload = |schedule| {
        let source =
            Source::text("a.wsp", workload.replace("SCHEDULE", schedule)).kernel("k", |_: &mut [f32]| ());
        source.compile().unwrap_or_else(|error| panic!("{error}"))
    };
    let of_workload = |schedule, options| told(&workload(schedule), &options);
    let one = of_workload("task_window(5, abort);", with(1));
    assert_eq!(one[0], "policy: fifo: `auto` with 1 worker");
    assert!(one[1].starts_with("queue: FIFOReadyQueue"), "{one:?}");
    assert_eq!(one[2], "window: 5 tasks, abort when it is full");
    assert!(of_workload("", with(2))[0].starts_with("policy: work_steal"));
    assert!(of_workload("task_graph(ready = priority);", with(2))[1].starts_with("queue: Ranked"));
    let aicpus = WorkloadRunOptions { aicpus: 2, ..WorkloadRunOptions::default() };
    let of_aicpus = of_workload("task_window(6);", RunOptions { workload: aicpus, ..with(1) });
    assert_eq!(of_aicpus[2], "window: LocalTaskQueue: 3 tasks on each AICPU, stall when it is full");
    let windowed = RunOptions { window: Some(7), ..with(1) };
    assert!(of_workload("", windowed.clone())[2].starts_with("window: 7 tasks"));
    assert!(
        workload("")
            .implementation(&RunOptions { spaces: SpaceOptions { kv_layout: KvLayout::Hnd }, ..with(1) })
            .is_err()
    );

    let spaces = Program::open(example("row_softmax.pto")).unwrap_or_else(|error| panic!("{error}"));
    let plain = told(&spaces, &RunOptions { plain: true, ..windowed });
    assert!(plain[2].starts_with("window: 7 tasks") && plain[3].starts_with("engine: "), "{plain:?}");
    assert_eq!(plain[4], "tile ops: plain");
    let unit = Source::text("units/a.tg", UNIT).file("kernels.pto", KERNELS).compile().expect("it is right");
    let unit = told(&unit, &with(1));
    assert!(unit[0].starts_with("queue: Ready") && unit[1].starts_with("engine: "), "{unit:?}");
}

#[test]
fn files_that_a_source_uses_are_given_with_it_and_its_parameters_are_set() {
    let alone = Program::from_source("units/a.tg", UNIT).expect_err("a file is missing");
    assert!(
        alone.to_string().contains("units/a.tg:2") && alone.to_string().contains("Source::file"),
        "{alone}"
    );
    let source = || Source::text("units/a.tg", UNIT).file("kernels.pto", KERNELS);
    let y = |source: Source| {
        let program = source.compile().unwrap_or_else(|error| panic!("{error}"));
        let outcome =
            program.execute(eight(), RunOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        outcome.outputs["Y"].as_slice::<f32>().expect("it is f32").to_vec()
    };
    assert_eq!(y(source()), [3.0; 8]);
    assert_eq!(y(source().set("by", ParamValue::Float(4.0))), [6.0; 8]);
    let unknown = source().set("bye", ParamValue::Float(4.0)).compile().expect_err("it has none");
    assert!(unknown.to_string().contains("`bye`"), "{unknown}");
}

#[test]
fn functions_of_task_graphs_are_given_with_the_source() {
    let mut kernels = TgKernels::new();
    let added = kernels.register("scale_entry", None, |cx| {
        let x: Vec<f32> = cx.load(0)?;
        cx.store(1, 0, &x.iter().map(|x| x - 1.0).collect::<Vec<f32>>())
    });
    added.expect("it is the first");
    let unit = UNIT.replace("use \"kernels.pto\"", "");
    let program = Source::text("a.tg", unit).unit_kernels(kernels).compile().expect("it is right");
    let outcome = program.execute(eight(), RunOptions::default()).expect("it fits");
    assert_eq!(outcome.outputs["Y"].as_slice::<f32>(), Some(&[0.5f32; 8][..]));
}

/// What a source is given has its effect or is an error.
#[test]
fn what_has_no_effect_on_a_program_is_refused_with_what_to_type() {
    let workload = "param n = 4; tensor x: f32[8]; kernel k(inout x) cost 10;
        workload main { parallel for i in 0..n { k(x[i]); } }
        schedule A { task_graph(window = (1, stall)); }";
    let workload = || Source::text("w.wsp", workload).kernel("k", |_: &mut [f32]| ());
    let kernels = |names: &[&str]| {
        let mut kernels = TgKernels::new();
        names.iter().for_each(|name| kernels.register(*name, None, |_| Ok(())).expect("it is the first"));
        kernels
    };
    let spaces = || Source::open(example("row_softmax.pto")).expect("it is there");
    let alone = || Source::text("a.tg", UNIT.replace("use \"kernels.pto\"", ""));
    let unit = || alone().unit_kernels(kernels(&["scale_entry"]));
    let blocks = CompileOptions { max_blocks: 3, ..CompileOptions::default() };
    let two = ParamValue::Int(2);
    assert!(workload().compile().is_ok() && spaces().compile().is_ok() && unit().compile().is_ok());
    for (source, says) in [
        (workload().set("n", two), "Args::new().with(\"n\", value)"),
        (spaces().set("n", two), "Args::new().with(\"n\", value)"),
        (workload().set("n", two).set("n", two), "`n` is set twice"),
        (workload().unit_kernels(kernels(&["k"])), "Source::kernel(name, body)"),
        (spaces().unit_kernels(kernels(&["k"])), "`unit_kernels` of a `Source`"),
        (spaces().kernel("k", |_: &[f32]| ()), "`kernel` of a `Source`"),
        (unit().kernel("k", |_: &[f32]| ()), "Source::unit_kernels(kernels)"),
        (unit().schedule("nope"), "`schedule` of a `Source` has no meaning for a task graph"),
        (unit().options(blocks.clone()), "`max_blocks` of a `Source`"),
        (alone().unit_kernels(kernels(&["scale_entry", "scale_entri"])), "did you mean `scale_entry`?"),
    ] {
        let refused = source.compile().map(drop).expect_err(says);
        assert!(refused.to_string().contains(says), "{says}: {refused}");
    }
    let makespan = |source: Source| {
        let program = source.compile().unwrap_or_else(|error| panic!("{error}"));
        let options = RunOptions { threads: 4, ..RunOptions::default() };
        program.simulate(&Args::new().with("x", [0f32; 8]), &options).expect("it fits").makespan
    };
    assert_eq!((makespan(workload()), makespan(workload().schedule("A"))), (10, 40));
    assert_eq!(makespan(workload().schedule("A").options(blocks)), 40);
}

/// Whatever a kernel or a generator does wrong in a run, the finding shows the line.
#[test]
fn a_fault_of_a_run_shows_its_place_in_kernels_and_generators() {
    let lens = || Args::new().with("lens", [1u32, 2, 3, 4]);
    let scalars = [
        "uint32_t q = 1u / n;",
        "uint32_t q = 1u % n;",
        "uint32_t q = n - 1u;",
        "uint32_t q = 4294967295u + a;",
        "uint32_t q = 4294967295u * (a + 1u);",
        "uint32_t q = 1u << (a + 31u);",
        "uint32_t q = (uint32_t)(int32_t)(a + 4294967294u);",
        "uint32_t q = lens[a + 3u];",
        "uint32_t q = *std::max_element(lens, lens + (a + 4u));",
    ];
    let tensors = [
        "uint32_t q = 0; PTO_STORE_SCALAR(y, 1.0f, {a + 15u, 1});",
        "uint32_t q = 0; PTO_STORE_SCALAR(y, PTO_LOAD_SCALAR(y, {0, a + 3u}), {0, 0});",
        "uint32_t q = 0; VecTile<float, 1, 4> t; TLOAD(t, y, {a, 0}); TSTORE(y, t, {a + 15u, 0});",
        "uint32_t q = 0; VecTile<float, 1, 4> t; TLOAD(t, y, {a, a + 3u}); TSTORE(y, t, {a, 0});",
    ];
    let shapes = "PTO_SHAPE(y, 16, 4)\nPTO_SHAPE(lens, 4)\nstruct D { uint32_t a; uint32_t n; };\n";
    let kernel = |body: &str| {
        format!(
            "PTO_KERNEL_IMPL(k) {{ auto d = PTO_GET_DESCRIPTOR<D>(); uint32_t a = d.a; uint32_t n = d.n;\n{body}\nPTO_STORE_SCALAR(y, 1.0f, {{q, 0}}); }}\n"
        )
    };
    let spaces = |generator: &str, body: &str| {
        format!(
            "{shapes}PTO_SPACE(S) {{ PTO_AXIS(i, 0, 1) }}
PTO_DESCRIPTOR_GEN(S) {{ for (uint32_t a = 1; a < lens[1]; a += 1) {{ uint32_t n = a - 1u;\n{generator}\nPTO_EMIT_DESCRIPTOR(D{{ .a = a, .n = n + 0u * q }}); }} }}
{}void run(Tensor<uint32_t> lens, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .lens = lens, .y = y }}); }}",
            kernel(body)
        )
    };
    let none = "uint32_t q = 0;";
    let mut sources: Vec<(&str, Source)> = Vec::new();
    for body in scalars.into_iter().chain(tensors) {
        let used = format!("{shapes}{}", kernel(body));
        sources.push((
            body,
            Source::text("u.wsp", "use \"u.pto\";\nworkload main { k(1, 0); }").file("u.pto", used),
        ));
        sources.push((body, Source::text("s.pto", spaces(none, body))));
    }
    sources.extend(scalars.map(|generator| (generator, Source::text("s.pto", spaces(generator, none)))));
    for (body, source) in sources {
        let program = source.compile().unwrap_or_else(|error| panic!("{body}: {error}"));
        let y = Array::zeros(DType::F32, &[16, 4]).expect("it is small");
        let is_taken = program.kind() == ProgramKind::Spaces || body.contains("lens");
        let args = if is_taken { lens() } else { Args::new() };
        let failed = program.execute(args.with("y", y), RunOptions::default()).map(drop).expect_err(body);
        let place = failed.diagnostics()[0].primary.as_ref().map(|label| label.span);
        assert!(place.is_some_and(|place| place != pto_wsp::Span::default()), "{body}: {failed}");
        let says = failed.to_string();
        assert!(body.split(';').any(|part| says.contains(part.trim()) && part.len() > 3), "{body}: {failed}");
    }
}

/// An array that a program does not take is misspelt, or means something else.
#[test]
fn an_array_that_a_program_does_not_take_is_refused_with_the_nearest_and_with_what_it_takes() {
    let text = "param n = 4; table t = [1]; tensor x: f32[4]; tensor out: f32[4];
        kernel k(in x, out y); workload main { for i in 0..t[0] { k(x[0..n], out[0..n]); } }";
    let workload = Source::text("w.wsp", text).kernel("k", |x: &[f32], y: &mut [f32]| y.copy_from_slice(x));
    let over = "use \"kernels.pto\"; table t = [1]; workload main { for i in 0..t[0] { copy(0); } }";
    let kernels = "PTO_SHAPE(x, 8)\nPTO_SHAPE(out, 8)\nstruct D { uint32_t at; };
        PTO_KERNEL_IMPL(copy) {
            auto d = PTO_GET_DESCRIPTOR<D>();
            PTO_STORE_SCALAR(out, PTO_LOAD_SCALAR(x, {d.at}), {d.at});
        }";
    let unit = Source::text("a.tg", UNIT).file("kernels.pto", KERNELS);
    let spaces =
        "PTO_SHAPE(x, n)\nPTO_SHAPE(out, n)\nPTO_SPACE(S) { PTO_AXIS(i, 0, n) }\nstruct D { uint32_t at; };
        PTO_DESCRIPTOR_GEN(S) { for (uint32_t i = 0; i < n; i += 1) { PTO_EMIT_DESCRIPTOR(D{ .at = i }); } }
        PTO_KERNEL_IMPL(copy) {
            auto d = PTO_GET_DESCRIPTOR<D>();
            PTO_STORE_SCALAR(out, PTO_LOAD_SCALAR(x, {d.at}), {d.at});
        }
        void run(Tensor<float> x, Tensor<float> out) { PTO_LAUNCH(S, { .x = x, .out = out }); }";
    let x = |name: &str| Args::new().with(name, Array::zeros(DType::F32, &[4]).expect("it is small"));
    let x8 = |name: &str| Args::new().with(name, Array::zeros(DType::F32, &[8]).expect("it is small"));
    for (source, args, out, near, taken) in [
        (workload, x("x"), "Out", "out", "it takes `x`, `out`, `t`"),
        (
            Source::text("o.wsp", over).file("kernels.pto", kernels),
            x8("x"),
            "Out",
            "out",
            "it takes `x`, `out`, `t`",
        ),
        (unit, x8("X"), "y", "Y", "it takes `X`, `Y`"),
        (Source::text("s.pto", spaces), x("x"), "Out", "out", "it takes `x`, `out`"),
    ] {
        let program = source.compile().unwrap_or_else(|error| panic!("{error}"));
        program.execute(args.clone(), RunOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        for (name, says) in [(out, format!("did you mean `{near}`?")), ("elsewhere", taken.to_owned())] {
            let given = args.clone().with(name, [0f32; 4]);
            let mut refused = vec![
                program.execute(given.clone(), RunOptions::default()).map(drop),
                program.prepare(given.clone(), RunOptions::default()).map(drop),
                program.simulate(&given, &RunOptions::default()).map(drop),
            ];
            let mut prepared = program.prepare(args.clone(), RunOptions::default()).expect("it fits");
            refused.push(prepared.rebind(Args::new().with(name, [0f32; 4])));
            for refused in refused {
                let refused = refused.expect_err(name);
                assert_eq!(refused.diagnostics()[0].code.0, 560, "{refused}");
                assert!(refused.to_string().contains(&says), "{says}: {refused}");
            }
        }
    }
    let program = Source::text("v.wsp", text).kernel("k", |_: &[f32], _: &mut [f32]| ());
    let program = program.compile().expect("it is right");
    let refused =
        program.execute(x("x").with("n", [2i64]), RunOptions::default()).expect_err("it is a value");
    assert!(
        refused.to_string().contains("`n` is a parameter: set it with `Args::with(\"n\", N)`"),
        "{refused}"
    );
}

/// An option of a run has its effect or is refused.
#[test]
fn options_without_an_effect_are_refused_with_what_to_type() {
    let text = "tensor x: f32[8]; kernel k(inout x); workload main { k(x); }";
    let workload =
        Source::text("w.wsp", text).kernel("k", |_: &mut [f32]| ()).compile().expect("it is right");
    let spaces = Program::open(example("row_softmax.pto")).expect("it is right");
    let unit = Source::text("a.tg", UNIT).file("kernels.pto", KERNELS).compile().expect("it is right");
    let x = Args::new().with("x", [0f32; 8]);
    let of = |change: &dyn Fn(&mut RunOptions)| {
        let mut options = RunOptions::default();
        change(&mut options);
        options
    };
    let says = |refused: Result<(), pto_wsp::Error>, name: &str, help: &str| {
        let refused = refused.expect_err(name).to_string();
        assert!(refused.contains(&format!("option `{name}`")) && refused.contains(help), "{name}: {refused}");
    };
    for deps in [Deps::Overlap, Deps::Explicit] {
        let listed = spaces.graph(&x, &GraphOptions { deps: Some(deps), ..GraphOptions::default() });
        says(listed.map(drop), "deps", "leave it out");
    }
    let recording = of(&|options| options.recording = Recording::On);
    for (program, args) in [(&workload, &x), (&spaces, &x), (&unit, &eight())] {
        says(program.simulate(args, &recording).map(drop), "recording", "leave it out");
    }
    for (name, options) in [
        ("whole_outs", of(&|options| options.workload.whole_outs = true)),
        ("mixing", of(&|options| options.workload.mixing = true)),
        ("absent", of(&|options| options.workload.absent = Absent::Zeros)),
    ] {
        says(workload.simulate(&x, &options).map(drop), name, "leave it out");
    }
    let seed = of(&|options| options.workload.data_seed = 7);
    says(workload.execute(x.clone(), seed).map(drop), "data_seed", "leave it out");
    // The host generates tasks where no AICPUs do.
    let host = of(&|options| options.workload.expand = Expand::Host);
    workload.execute(x.clone(), host.clone()).expect("it has its effect");
    workload.simulate(&x, &host).expect("it has its effect");
    let origin =
        |name: &str| of(&|options| drop(options.unit.origins.insert(name.to_owned(), "here".to_owned())));
    says(unit.execute(eight(), origin("NOPE")).map(drop), "origins", "`NOPE`");
    says(unit.execute(eight(), origin("x")).map(drop), "origins", "did you mean `X`?");
    unit.execute(eight(), origin("X")).expect("it is given");
}

/// Descriptors cannot lead a task into an arm of its kernel, which is part of the kernel all the same.
#[test]
fn a_kernel_may_load_from_an_array_where_no_task_comes_to() {
    for never in [
        "if (PTO_MIN(0u, d.a) > 2u) { PTO_STORE_SCALAR(x, PTO_LOAD_SCALAR(y, {d.a, 1}), {d.a, 1}); }",
        "PTO_STORE_SCALAR(x, 2.0f, {d.a, 2}); if (PTO_MIN(0u, d.a) < 2u) { return; } PTO_STORE_SCALAR(x, PTO_LOAD_SCALAR(y, {d.a, 1}), {d.a, 1});",
    ] {
        let kernels = format!(
            "PTO_SHAPE(x, 16, 4)\nPTO_SHAPE(y, 16, 4)\nstruct D {{ uint32_t a; }};
            PTO_KERNEL_IMPL(k) {{ auto d = PTO_GET_DESCRIPTOR<D>(); {never} PTO_STORE_SCALAR(x, 2.0f, {{d.a, 2}}); }}"
        );
        let spaces = format!(
            "{kernels}\nPTO_SPACE(S) {{ PTO_AXIS(i, 0, 1) }}
            PTO_DESCRIPTOR_GEN(S) {{ PTO_EMIT_DESCRIPTOR(D{{ .a = 1 }}); }}
            void run(Tensor<float> x, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .x = x, .y = y }}); }}"
        );
        let workload = Source::text("u.wsp", "use \"u.pto\"; workload main { k(1); }").file("u.pto", kernels);
        for source in [workload, Source::text("s.pto", spaces)] {
            let program = source.compile().unwrap_or_else(|error| panic!("{error}"));
            let missing = program.execute(Args::new(), RunOptions::default()).expect_err("it is named");
            assert_eq!(missing.diagnostics()[0].code.0, 550, "{never}: {missing}");
            let y = Args::new().with("y", Array::zeros(DType::F32, &[16, 4]).expect("it is small"));
            let outcome = program.execute(y, RunOptions::default()).unwrap_or_else(|error| panic!("{error}"));
            let x = outcome.outputs["x"].as_slice::<f32>().expect("it is f32");
            assert_eq!((x[6], x.iter().sum::<f32>()), (2.0, 2.0), "{never}");
        }
    }
}

/// Of a file that does not end no more is read than a source may have.
#[test]
#[cfg(unix)]
fn a_file_without_an_end_is_refused() {
    let folder = tempfile::tempdir().expect("a folder is made");
    for name in ["zeros.pto", "zeros.wsp"] {
        let path = folder.path().join(name);
        std::os::unix::fs::symlink("/dev/zero", &path).expect("a link is made");
        let said = Source::open(&path).expect_err("it has no end").to_string();
        assert!(said.contains("WSP0513") && said.contains("more than"), "{said}");
    }
}

#[test]
fn faults_of_sources_runs_and_functions_show_their_lines() {
    let wrong = Program::from_source("wrong.pto", "PTO_SHAPE(x, n").expect_err("the text ends early");
    assert!(wrong.to_string().contains("wrong.pto:1") && wrong.run().is_none(), "{wrong}");
    let text = "tensor x: f32[8, 4];\nkernel sum(in x);\nworkload main { sum(x[9]); }";
    let program = Source::text("w.wsp", text).kernel("sum", |_: Rows<f32>| ()).compile().expect("it is read");
    let x = Args::new().with("x", Array::zeros(DType::F32, &[8, 4]).expect("it is small"));
    let failed = program.execute(x, RunOptions::default()).expect_err("row 9 of 8");
    assert!(failed.run().is_some() && failed.to_string().contains("w.wsp:3"), "{failed}");
    let twice = Source::text("w.wsp", text).kernel("sum", |_: Rows<f32>| ()).kernel("sum", |_: &[f32]| ());
    assert!(twice.compile().expect_err("it has two").to_string().contains("`sum`"));
}

#[test]
fn a_prepared_program_runs_again_with_other_arguments() {
    let text = "tensor x: f32[4]; tensor s: f32[1]; kernel sum(in x, out s); workload main { sum(x, s); }";
    let sum = |x: &[f32], s: &mut [f32]| s[0] = x.iter().sum();
    let program = Source::text("w.wsp", text).kernel("sum", sum).compile().expect("it is right");
    let x = |of: f32| Args::new().with("x", [of; 4]);
    let mut prepared = program.prepare(x(1.0), RunOptions::default()).expect("it fits");
    let mut total = |args: Option<Args>| {
        args.map_or(Ok(()), |args| prepared.rebind(args)).expect("it fits");
        prepared.run().expect("it fits").outputs["s"].as_slice::<f32>().expect("it is f32")[0]
    };
    assert_eq!([total(None), total(Some(x(2.5))), total(None)], [4.0, 10.0, 10.0]);
    assert!(prepared.rebind(Args::new().with("x", [1.0f32; 3])).is_err());
    assert!(prepared.advance(Growth::ByOne).is_err(), "it keeps no tasks");
}

#[test]
fn a_run_is_cancelled_while_its_caller_waits_for_nothing() {
    let text = "tensor x: i64[64]; kernel k(inout x); workload main { for i in 0..64 { k(x[i]); } }";
    let (started, is_started) = mpsc::channel();
    let go = Arc::new(AtomicBool::new(false));
    let seen = go.clone();
    let k = move |_: &mut [i64]| {
        let _ = started.send(());
        while !seen.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    };
    let program = Source::text("w.wsp", text).kernel("k", k).compile().expect("it is right");
    let x = Args::new().with("x", [0i64; 64]);
    let run = program.start(x, RunOptions::default()).expect("it fits");
    is_started.recv().expect("its first task starts");
    assert!(!run.is_complete() && !run.wait_for(Duration::ZERO), "it takes longer than its caller allows");
    run.cancel();
    go.store(true, Ordering::Release);
    assert!(run.wait_for(Duration::MAX) && run.is_complete());
    let cancelled = run.wait().expect_err("63 tasks have not started");
    assert!(matches!(cancelled.run(), Some(RunError::Cancelled(_))), "{cancelled}");
}

/// Arrays of three requests, whose pages lie one after another.
fn requests(lengths: [u32; 3]) -> Args {
    let pages = lengths.map(|n: u32| n.div_ceil(16));
    let total: u32 = pages.iter().sum();
    let count = u64::from(total) * 16 * 2 * 64;
    // The elements of a token follow from its place in its request, wherever its page is.
    let element = |i: u64| half::f16::from_f32((i % 1021) as f32 / 1021.0 - 0.5);
    let elements: Vec<half::f16> = (0..count).map(element).collect();
    let kv = Array::of(&[total.into(), 16, 2, 64], &elements).expect("it is small");
    let q: Vec<half::f16> = (0..3 * 8 * 64).map(element).collect();
    Args::new()
        .with("q", Array::of(&[3, 8, 1, 64], &q).expect("it is small"))
        .with("kv.k", kv.clone())
        .with("kv.v", kv)
        .with("kv.indptr", [0, pages[0], pages[0] + pages[1], total])
        .with("kv.indices", (0..total).collect::<Vec<u32>>())
        .with("kv.last_page_len", lengths.map(|n| (n - 1) % 16 + 1))
        .with("kv_lens", lengths)
}

#[test]
fn tasks_that_are_kept_follow_requests_that_grow() {
    let program = Program::open(example("decode_attention.pto")).unwrap_or_else(|error| panic!("{error}"));
    let mut lengths = [700, 40, 100];
    let mut prepared = program.prepare(requests(lengths), RunOptions::default()).expect("it fits");
    let first = prepared.run().expect("it fits").stats.tasks;
    let mut patched = 0;
    for step in 0..6 {
        lengths = lengths.map(|n| n + 1);
        let how = prepared.advance(Growth::ByOne).unwrap_or_else(|error| panic!("{error}"));
        if step == 0 {
            let stale = prepared.run().expect_err("its arrays are of the lengths before");
            assert!(stale.run().is_some(), "{stale}");
        }
        prepared.rebind(requests(lengths)).unwrap_or_else(|error| panic!("{error}"));
        let kept = prepared.run().unwrap_or_else(|error| panic!("{error}"));
        let again = prepared.run().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(kept.stats.compile, again.stats.compile, "kernels were compiled by the first run");
        let anew = program.execute(requests(lengths), RunOptions::default()).expect("it fits");
        let bits = |of: &Outcome| of.outputs.values().map(|array| array.bytes().to_vec()).collect::<Vec<_>>();
        assert_eq!(bits(&kept), bits(&anew), "step {step}");
        assert_eq!(kept.stats.tasks, first, "step {step}");
        patched += u32::from(matches!(how, Advance::Patched { .. }));
    }
    assert!(patched > 0, "some steps change words in place");
    // Lengths for which tasks cannot be made: the message says what brings the tasks back, and that does.
    prepared.advance(Growth::To(&[u32::MAX; 3])).expect_err("positions of their tasks overflow");
    let lost = prepared.run().expect_err("there are no tasks").to_string();
    assert!(lost.contains("advance(Growth::To(&lengths))"), "{lost}");
    prepared.advance(Growth::To(&lengths)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(prepared.run().unwrap_or_else(|error| panic!("{error}")).stats.tasks, first);
    let stale = prepared.rebind(requests([5, 6, 7])).expect_err("they are of other lengths");
    assert!(matches!(stale.run(), Some(RunError::Refused(_))), "{stale}");
    prepared.run().expect("the arguments are as they were");
    prepared.advance(Growth::To(&[5, 6, 7])).expect("they may shrink");
    prepared.rebind(requests([5, 6, 7])).expect("they fit now");
    prepared.run().expect("they fit");
}

/// A list of tasks has no use for options of runs, and says so of itself; of a task graph it has what stands in the file.
#[test]
fn what_is_explained_or_listed_before_a_run_has_words_of_its_own() {
    let text = "tensor x: i64[8]; kernel k(inout x); workload main { parallel for i in 0..8 { k(x[i]); } }";
    let program = Source::text("w.wsp", text).kernel("k", |_: &mut [i64]| ()).compile().expect("it is right");
    let x = Args::new().with("x", [0i64; 8]);
    for (name, options) in [
        ("threads", RunOptions { threads: 2, ..RunOptions::default() }),
        ("window", RunOptions { window: Some(2), ..RunOptions::default() }),
    ] {
        let refused = program.explain(&x, &options).map(drop).expect_err(name).to_string();
        let says =
            format!("option `{name}` has no meaning for a list of tasks, which says nothing of how they run");
        assert!(refused.contains(&says), "{refused}");
    }
    let source = Source::text("a.tg", UNIT).file("kernels.pto", KERNELS);
    let program = source.compile().unwrap_or_else(|error| panic!("{error}"));
    // What stands in the file, which a loop or a condition may have run often or never.
    let explained = program.explain(&eight(), &RunOptions::default()).expect("it has a node");
    assert_eq!(explained.kernels, [("A".to_owned(), 1)]);
    let listed = program.graph(&eight(), &GraphOptions::default()).expect("it has a node");
    assert_eq!((listed.kernels[0].name.as_str(), listed.tasks, listed.edges), ("A", vec![0], vec![]));
    let deps = GraphOptions { deps: Some(Deps::Overlap), ..GraphOptions::default() };
    let refused = program.graph(&eight(), &deps).expect_err("its edges stand in the file").to_string();
    assert!(refused.contains("option `deps` has no meaning"), "{refused}");
    let simulated = program.simulate(&eight(), &RunOptions::default()).expect("it fits").listing;
    assert_eq!((simulated.kernels[0].name.as_str(), simulated.tasks), ("A", vec![0]));
}

#[test]
fn a_window_that_overflows_is_an_error_with_its_figures() {
    let text = "
        tensor x: i64[8]; kernel k(inout x) cost 5;
        workload main { parallel for i in 0..8 { k(x[i]); } }
        schedule { task_graph(window = (3, abort), start = after_orchestration); }";
    let program = Source::text("w.wsp", text).kernel("k", |_: &mut [i64]| ()).compile().expect("it is right");
    let x = || Args::new().with("x", [0i64; 8]);
    let run = program.execute(x(), RunOptions::default()).expect_err("no task starts before the last");
    let simulated =
        program.simulate(&x(), &RunOptions::default()).map(drop).expect_err("nor in virtual time");
    for error in [&run, &simulated] {
        let figures = WindowOverflow { capacity: 3, active: 3, task: 3 };
        let Some(RunError::Overflow(overflow, found)) = error.run() else { panic!("{error}") };
        assert_eq!((*overflow, found[0].figures.len()), (figures, 3));
    }
    let aicpus = WorkloadRunOptions { aicpus: 1, ..WorkloadRunOptions::default() };
    let options = RunOptions { workload: aicpus, ..RunOptions::default() };
    let error = program.execute(x(), options).expect_err("its AICPU has the same window");
    assert!(
        matches!(error.run(), Some(RunError::Overflow(overflow, _)) if overflow.capacity == 3),
        "{error}"
    );
}

/// What closures store to slices is recorded as what bodies store by copies.
#[test]
fn a_run_that_records_sees_what_closures_leave_unwritten() {
    let on = || RunOptions { recording: Recording::On, ..RunOptions::default() };
    let compiled = |source: Source| source.compile().unwrap_or_else(|error| panic!("{error}"));
    for (dtype, nothing) in [("f32", true), ("f32", false), ("i32", false)] {
        let text = format!(
            "tensor y: {dtype}[4]; kernel k(out y, n); workload main {{ for i in 0..2 {{ k(y[i * 2 +: 2], i); }} }}"
        );
        let source = Source::text("test.wsp", text);
        let program = compiled(match dtype {
            "f32" => source.kernel("k", move |y: &mut [f32], n: i64| {
                if !nothing && n == 1 {
                    y[1] = 1.0;
                }
            }),
            _ => source.kernel("k", |y: &mut [i32], n: i64| {
                if n == 1 {
                    y[1] = 1;
                }
            }),
        });
        let outcome = program.execute(Args::new(), on()).unwrap_or_else(|error| panic!("{error}"));
        let [left] = &outcome.unwritten[..] else { panic!("{:?}", outcome.unwritten) };
        assert_eq!((left.elements, left.of), (if nothing { 4 } else { 3 }, 4), "{dtype}");
        let ends = &outcome.outputs["y"].bytes()[..12];
        assert_eq!(ends, [0; 12], "{dtype}: what is not written is as it was");
    }
    let chain = "tensor t: f32[4]; tensor y: f32[4]; kernel a(out t); kernel b(in t, out y);
        workload main { a(t); b(t, y); }";
    let of = |a: fn(&mut [f32])| {
        let source = Source::text("test.wsp", chain).kernel("a", move |t: &mut [f32]| a(t));
        compiled(source.kernel("b", |t: &[f32], y: &mut [f32]| y.copy_from_slice(t)))
    };
    let error = of(|t| t[0] = 1.0).execute(Args::new(), on()).expect_err("`b` loads what `a` has not stored");
    assert!(error.to_string().contains("[1]"), "{error}");
    let error =
        of(|t| t.iter_mut().for_each(|x| *x += 1.0)).execute(Args::new(), on()).expect_err("`t` is `out`");
    assert!(error.to_string().contains("computed from what it held before the task"), "{error}");
    let whole = of(|t| t.fill(2.0)).execute(Args::new(), on()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((whole.outputs["y"].as_slice::<f32>(), whole.unwritten.len()), (Some(&[2.0; 4][..]), 0));
}
