//! Modules that builders make are those that text says.

use crate::said::said;
use crate::stack::on_a_plain_stack;
use wsp_core::DType;
use wsp_diag::{Diagnostics, SourceMap, render};
use wsp_ir::workload::build::{
    Expr, Index, Int, ModuleBuilder, TaskGraphPolicy, affinity, between, hash, range, range_step,
    round_robin, sized, static_partition, work_steal,
};
use wsp_ir::workload::{
    Deps, ExecPool, GateScope, LayoutDim, MeshAxis, PoolSizes, Ready, Start, Timing, Trace, Window,
    WindowMode, WorkloadModule, text,
};

fn parse(text: &str) -> WorkloadModule {
    let mut sources = SourceMap::default();
    let (module, diagnostics) = text::parse("t.wsp", text, &mut sources);
    let shown: String = diagnostics.iter().map(|d| render(d, &sources, false)).collect();
    module.unwrap_or_else(|| panic!("{text}\n{shown}"))
}

fn finish(m: ModuleBuilder) -> WorkloadModule {
    let show = |found: Diagnostics| panic!("{found:#?}");
    m.finish().unwrap_or_else(show).into_inner()
}

/// The first finding, which has this code, and its message.
fn fault(m: ModuleBuilder, code: u16) -> String {
    let found = m.finish().expect_err("the module breaks a rule");
    assert_eq!(found[0].code.0, code, "{found:#?}");
    found[0].message.clone()
}

#[test]
fn every_construct_is_the_same_in_rust_and_in_text() {
    let mut m = ModuleBuilder::new();
    m.use_file("kernels.pto");
    let seq = m.param("seq", 1024);
    let batch = m.required("batch");
    let n = m.derived("n", seq / 64);
    let lens = m.table("lens", batch);
    let indptr = m.table_of("indptr", [0, 2, 3]);
    let indices = m.open_table("indices");
    let b = m.dense("b", batch);
    let t = m.dense_range("t", 2, n);
    let r = m.dense_dyn("r", seq);
    let tok = m.ragged("tok", b, lens);
    let nz = m.sparse("nz", b, indptr, indices);
    let x = m.tensor("x", DType::F32, [seq.into(), 128.into()]);
    let again = m.slot("again", 1);
    let y = m.tensor("y", DType::Bf16, [n.into(), n * 2, 8.into()]);
    let norm = m.kernel("rmsnorm").input("x").output("y").on(ExecPool::Vector).cost(120).finish();
    let gemm = m
        .kernel("gemm")
        .input("a")
        .inout("c")
        .scalar("k")
        .scalar("n")
        .on(ExecPool::Cube)
        .cost_by("n", |n| 10 * n)
        .finish();
    let step = m.kernel("step").inout("again").finish();
    let rope = m.library_kernel("rope").on(ExecPool::Vector).finish();
    let tile = m.workload_of("tile", ["i", "j"], |w, [i, j]| {
        w.task(norm).arg(x.at((sized(i * 64, 64), ..))).arg(y.at((i, j, 0..8)));
    });
    m.workload("main", |w| {
        w.parallel_for("i", ..n, |w, i| {
            w.for_each("k", tok.under(i), |w, k| {
                w.task(gemm)
                    .arg(x.at(between(k * 64, k * 64 + 64)))
                    .arg(y)
                    .arg(lens.at(i) % 3)
                    .arg(lens.count());
            });
        });
        w.for_each("i", b, |w, i| {
            w.call(tile).arg(i).arg(0);
            w.select("e", nz.row(i), |w, e| {
                w.task(rope).arg(e).field("first", i * 16);
            });
            w.select_at(["e", "p"], nz.row(i), |w, e, p| {
                w.task(rope).arg(e).arg(p);
            });
        });
        w.parallel_for("i", t, |_, _| {});
        w.parallel_for("i", r, |w, i| {
            w.parallel_for("j", range(i, seq), |_, _| {});
            w.parallel_for("j", range_step(0, seq, 4), |_, _| {});
        });
        w.cond(
            seq.greater(4096).and(lens.at(0).differs(0)),
            |w| w.when(!batch, |_| {}),
            |w| {
                w.call(tile).arg(-seq).arg(seq.choose(1, 2 - batch).ceil_div(3).min(7).max(n));
            },
        );
        w.while_max(again, 100, |w| {
            w.task(step).arg(again.whole());
        });
        w.while_(again.equals(2).or(again.less(3)), |_| {});
        w.combine(|c| {
            c.branch(|w| {
                w.call(tile).arg(seq.at_most(1)).arg(seq.at_least(2));
            })
            .branch(|_| {});
        });
        w.sequential(|s| {
            s.step(|w| {
                let p = w.task(norm).arg(x).arg(y).label("p");
                w.task(norm).arg(x).arg(y).after(p);
            });
        });
        let tiles = w.channel("tiles", n);
        w.pipeline(|p| {
            p.process("load", |w| {
                w.send(tiles, "s", |w, s| {
                    w.task(norm).arg(x.at(s)).arg(y);
                });
            });
            p.process("store", |w| {
                w.consume(tiles, "s", |w, s| {
                    w.call(tile).arg(s).arg(0);
                });
            });
        });
    });
    m.schedule(|s| {
        s.dispatch(affinity(b.index() * 2)).streams(4).stream_by(tok.index() + nz.index());
        s.task_graph(TaskGraphPolicy {
            deps: Some(Deps::Hybrid),
            window: Some(Window { capacity: 8192, mode: WindowMode::Benchmark }),
            pools: Some(PoolSizes::ByUnit { vector: 3, cube: 1 }),
            ready: Some(Ready::Priority),
            start: Some(Start::Threshold(100)),
            trace: Some(Trace::Cycles),
        });
        s.pipeline_depth(2, GateScope::PerStream).batch_deps(16).priority(seq);
    });
    m.schedule_named("fast", |s| {
        let tiers = [affinity(seq).into(), hash(seq).into(), round_robin().into()];
        s.dispatch_threshold(lens.at(b.index()), [2048, 8192], tiers).window(64, WindowMode::Abort);
        s.deps(Deps::Exact).pools(PoolSizes::Shared).ready(Ready::Fifo);
        s.start(Start::Immediate).trace(Trace::None);
    });
    m.schedule_named("parts", |s| {
        s.dispatch(static_partition([0..10, 10..20]));
    });
    m.schedule_named("any", |s| {
        s.dispatch(work_steal()).core_groups(2).timing(Timing::Immediate).ready(Ready::WorkSteal);
    });
    m.schedule_named("grid", |s| {
        let (along_x, along_y) = (LayoutDim::Shard(MeshAxis::X), LayoutDim::Shard(MeshAxis::Y));
        s.spatial_map(4, 2).layout("x", &[along_x, LayoutDim::Replicate]);
        s.layout_pending("y", &[along_x, LayoutDim::Replicate, LayoutDim::Replicate], &[MeshAxis::Y]);
        s.relayout("y", &[LayoutDim::Replicate, LayoutDim::Replicate, along_y]).timing(Timing::Batched(3));
    });
    assert_eq!(said(&finish(m)), said(&parse(include_str!("workload_text/built.wsp"))));
}

#[test]
fn a_loop_that_hides_what_its_body_uses_prints_under_another_name() {
    let mut m = ModuleBuilder::new();
    let i = m.param("i", 4);
    let k = m.kernel("k").scalar("a").scalar("b").scalar("c").finish();
    m.workload("main", |w| {
        w.parallel_for("i", ..i, |w, outer| {
            w.parallel_for("i", ..i, |w, inner| {
                w.task(k).arg(i).arg(outer).arg(inner);
            });
        });
    });
    let module = finish(m);
    let printed = text::print(&module);
    assert!(printed.contains("k(i, i_1, i_2);"), "{printed}");
    let mut read = parse(&printed);
    read.workloads[0].vars.iter_mut().for_each(|var| var.name = "i".to_owned());
    assert_eq!(said(&read), said(&module));
}

#[test]
fn a_loop_variable_that_outlives_its_loop_is_found() {
    let mut m = ModuleBuilder::new();
    let k = m.kernel("k").scalar("n").finish();
    m.workload("main", |w| {
        let mut kept: Option<Index> = None;
        w.for_each("row", 0..4, |_, row| kept = Some(row));
        w.task(k).arg(kept.map_or(Expr::from(0), Expr::from));
    });
    assert!(fault(m, 765).contains("`row` is used outside its loop"));
}

#[test]
fn a_handle_of_another_module_is_found() {
    let mut other = ModuleBuilder::new();
    let foreign = other.param("n", 4);
    let mut m = ModuleBuilder::new();
    m.param("n", 4);
    m.tensor("x", DType::F32, [foreign * 2]);
    assert!(fault(m, 788).contains("tensor `x` uses a handle of another module"));
}

#[test]
fn a_variable_of_another_workload_is_found() {
    let mut m = ModuleBuilder::new();
    let k = m.kernel("k").scalar("n").finish();
    let mut kept = None;
    m.workload("first", |w| w.for_each("i", 0..4, |_, i| kept = Some(i)));
    m.workload("main", |w| {
        w.for_each("i", 0..4, |w, i| {
            w.task(k).arg(kept.map_or(i * 1, |other| other + i));
        });
    });
    assert!(fault(m, 788).contains("workload `main`"));
}

#[test]
fn rules_are_reported_with_the_names_of_things() {
    let mut m = ModuleBuilder::new();
    let x = m.tensor("x", DType::F32, [4.into()]);
    let k = m.kernel("gemm").input("a").output("b").finish();
    m.workload("main", |w| {
        w.task(k).arg(x);
    });
    assert_eq!(fault(m, 772), "`gemm` takes 2 arguments, not 1");

    let mut m = ModuleBuilder::new();
    m.library_kernel("attn").input("q").finish();
    assert!(fault(m, 788).contains("leave out `q`"));

    let mut m = ModuleBuilder::new();
    m.kernel("k").scalar("n").cost_by("m", |m| m * 2).finish();
    assert!(fault(m, 788).contains("kernel `k` has no integer `m`"));

    let mut m = ModuleBuilder::new();
    let b = m.dense("b", 4);
    let k = m.kernel("k").scalar("n").finish();
    m.workload("main", |w| {
        w.task(k).arg(b.index());
    });
    assert!(fault(m, 764).contains("axis `b` cannot stand in a workload"));
}

#[test]
fn sums_have_any_number_of_terms_and_are_those_of_the_text() {
    on_a_plain_stack(|| {
        let mut m = ModuleBuilder::new();
        let n = m.required("n");
        let sum = (0..10_000).fold(Expr::from(n), |sum, term| if term % 2 == 0 { sum + n } else { sum - 3 });
        m.derived("whole", sum.clone());
        drop(sum);
        let text = format!("param n; let whole = n{};", " + n - 3".repeat(5_000));
        m.workload("main", |_| {});
        let read = parse(&format!("{text} workload main {{ }}"));
        assert_eq!(said(&finish(m).params), said(&read.params));
    });
}
