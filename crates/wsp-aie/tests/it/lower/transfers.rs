//! Orders in which tasks take boxes, each beside a plain run: loops in any order and direction, several inputs, fifos that memory tiles distribute and join.

use super::{Simulated, args, array, numbers, plan, run};
use crate::randomised::{Numbers, cases};
use wsp_aie::Simulation as _;
use wsp_backend::{RunError, RunOptions};
use wsp_memory::Array;

/// Kernels of one to three inputs.
fn kernels(inputs: usize, (rows, cols): (u64, u64), (narrow, sum): (bool, bool)) -> String {
    let names = &["x", "s", "w"][..inputs];
    let is_narrow = |name: &str| narrow && name == "s";
    let wide = |name: &str| if is_narrow(name) { "1" } else { "wide" };
    let shapes: Vec<String> =
        names.iter().map(|name| format!("PTO_SHAPE({name}, rows, {})", wide(name))).collect();
    let column = "{PTO_ROWS(desc.i), 0}";
    let mut body = String::new();
    for (at, name) in names.iter().enumerate() {
        let (of, place) = if is_narrow(name) { (1, column) } else { (cols, "{desc.i, desc.j}") };
        body += &format!("VecTile<float, {rows}, {of}> v{at};\nTLOAD(v{at}, {name}, {place});\n");
        match at {
            0 => {}
            _ if is_narrow(name) => body += &format!("TROWEXPANDMUL(v0, v0, v{at});\n"),
            _ => body += &format!("TADD(v0, v0, v{at});\n"),
        }
    }
    body += &match sum {
        true => format!("VecTile<float, {rows}, 1> o;\nTROWSUM(o, v0);\nTSTORE(y, o, {column});\n"),
        false => "TSTORE(y, v0, {desc.i, desc.j});\n".to_owned(),
    };
    format!(
        "{}\nPTO_SHAPE(y, rows, {})\nstruct D {{ uint32_t i, j; }};
        PTO_KERNEL_IMPL(k) {{\nauto desc = PTO_GET_DESCRIPTOR<D>();\n{body}}}",
        shapes.join("\n"),
        if sum { "1" } else { "wide" }
    )
}

/// Whether an array computes what a plain run does.
fn is_plain(workload: &str, kernels: &str, arrays: &[(&str, &Array)]) {
    let plan = plan(workload, kernels, "xdna2");
    let plain = Simulated.compile(&plan).unwrap_or_else(|found| panic!("{found}"));
    let wanted = plain.execute(args(arrays, &[]), RunOptions::default()).expect("it runs");
    let found =
        run(&plan, args(arrays, &[])).unwrap_or_else(|fault| panic!("{fault:?}\n{workload}{kernels}"));
    for (name, wanted) in &wanted.outputs {
        for (at, (found, wanted)) in numbers(&found.outputs[name]).iter().zip(numbers(wanted)).enumerate() {
            assert!((found - wanted).abs() < 1e-4, "{name} {at}: {found}, {wanted}\n{workload}{kernels}");
        }
    }
}

#[test]
fn transfers_of_a_distributed_fifo_stay_in_its_order() {
    let text =
        "use \"k.pto\"; workload main { parallel for i in 0..32, j in 0..2 { k(i = 31 - i, j = 4 * j); } }";
    let kernels = kernels(1, (1, 4), (false, true)).replace("wide", "8");
    is_plain(text, &kernels, &[("x", &array(&[32, 8], 1))]);
}

#[test]
fn where_descriptors_are_short_the_host_waits_for_what_needs_nothing_later() {
    let (x, w) = (array(&[64, 64], 1), array(&[64, 64], 2));
    let (narrow, wide) = (array(&[64, 1], 3), array(&[64, 64], 3));
    let text = |loops: &str, workers: u32| {
        format!(
            "use \"k.pto\"; workload main {{ {loops} {{ k(i = 8 * i, j = 16 * j); }} }}
            schedule {{ workers({workers}); }}"
        )
    };
    for (s, is_narrow) in [(&narrow, true), (&wide, false)] {
        let kernels = kernels(3, (8, 16), (is_narrow, false)).replace("wide", "64");
        let arrays = [("x", &x), ("s", s), ("w", &w)];
        is_plain(&text("for i in 0..8, j in 0..4", 8), &kernels, &arrays);
        is_plain(&text("parallel for i in 0..2, j in 0..4", 1), &kernels, &arrays);
    }
}

#[test]
fn loops_in_any_order_compute_what_a_plain_run_does() {
    for case in 0..cases(40) {
        let mut numbers = Numbers::of_seed(case);
        let mut below = |n: u64| numbers.below(n) as usize;
        let (rows, cols) = ([1, 2, 8][below(3)], [4, 8, 16][below(3)]);
        let (down, across) = (1 + below(8) as u64, 1 + below(4) as u64);
        let i = if below(2) == 0 { "i".to_owned() } else { format!("({} - i)", down - 1) };
        let j = if below(3) > 0 { "j".to_owned() } else { format!("({} - j)", across - 1) };
        let mut loops = [format!("i in 0..{down}"), format!("j in 0..{across}")];
        if below(3) == 0 {
            loops.reverse();
        }
        let workers = ["", "schedule { workers(1); }", "schedule { workers(3); }"][below(3)];
        let parallel = ["parallel ", ""][below(2)];
        let workload = format!(
            "use \"k.pto\"; workload main {{ {parallel}for {} {{ k(i = {rows} * {i}, j = {cols} * {j}); }} }} {workers}",
            loops.join(", ")
        );
        let (tall, wide) = (rows * down, cols * across);
        let inputs = 1 + below(3);
        let (narrow, sum) = (below(2) == 0, below(3) == 0 && parallel.is_empty());
        let kernels = kernels(inputs, (rows, cols), (narrow, sum)).replace("wide", &wide.to_string());
        let (x, w) = (array(&[tall, wide], 1), array(&[tall, wide], 2));
        let s = array(&[tall, if narrow { 1 } else { wide }], 3);
        is_plain(&workload, &kernels, &[("x", &x), ("s", &s), ("w", &w)][..inputs]);
    }
}

/// Where each core makes all its boxes before it takes one of another, fifos are made deeper; where tiles have no memory for that, the refusal says how to avoid it.
#[test]
fn cores_that_pass_boxes_in_a_circle_have_to_take_them_soon() {
    let kernels = "
        PTO_SHAPE(x, 32, 32)
        PTO_SHAPE(y, 32, 32)
        PTO_TENSOR(t, float, 32, 32)
        struct A { uint32_t i, j; };
        struct B { uint32_t i, j; };
        PTO_KERNEL_IMPL(a) {
            auto desc = PTO_GET_DESCRIPTOR<A>();
            VecTile<float, 8, 8> v;
            TLOAD(v, x, {desc.i, desc.j});
            TADDS(v, v, 1.0f);
            TSTORE(t, v, {desc.i, desc.j});
        }
        PTO_KERNEL_IMPL(b) {
            auto desc = PTO_GET_DESCRIPTOR<B>();
            VecTile<float, 8, 8> v;
            TLOAD(v, t, {desc.i, desc.j});
            TMULS(v, v, 2.0f);
            TSTORE(y, v, {desc.i, desc.j});
        }";
    let text = |loops: &str| {
        format!("use \"k.pto\"; workload main {{ {loops} }} schedule {{ spatial_map((3, 1)); }}")
    };
    let (each, x) = ("parallel for i in 0..4, j in 0..4", array(&[32, 32], 1));
    let (many, large) = ("parallel for i in 0..8, j in 0..8", array(&[256, 256], 1));
    let (a, b) = ("a(i = 8 * i, j = 8 * j);", "b(i = 8 * i, j = 8 * j);");
    is_plain(&text(&format!("{each} {{ {a} }} {each} {{ {b} }}")), kernels, &[("x", &x)]);
    let apart = text(&format!("{many} {{ {a} }} {many} {{ {b} }}")).replace("8 *", "32 *");
    let kernels_of_large = kernels.replace("32, 32", "256, 256").replace("8, 8", "32, 32");
    let apart = plan(&apart, &kernels_of_large, "xdna2");
    let Err(RunError::Refused(found)) = run(&apart, args(&[("x", &large)], &[])) else {
        panic!("it is refused")
    };
    let told = format!("{found}");
    assert!(found.0[0].code.0 == 1871 && told.contains("in one loop"), "{told}");
    assert!(told.contains(" boxes of `t` the design hangs"), "{told}");
    is_plain(&text(&format!("{each} {{ {a} {b} }}")), kernels, &[("x", &x)]);
}

/// A core has two channels each way: arrays of one size that all cores take, and outputs of one size, share one.
#[test]
fn tensors_of_one_size_share_a_channel_where_all_cores_take_them_and_on_the_way_back() {
    let normalised = "
        PTO_SHAPE(x, 128, 32)
        PTO_SHAPE(gain, 32)
        PTO_SHAPE(bias, 32)
        PTO_SHAPE(y, 128, 32)
        struct A { uint32_t tile; };
        PTO_KERNEL_IMPL(a) {
            auto desc = PTO_GET_DESCRIPTOR<A>();
            VecTile<float, 4, 32> t;
            VecTile<float, 1, 32> g;
            VecTile<float, 1, 32> b;
            TLOAD(t, x, {desc.tile * 4});
            TLOAD(g, gain, {0});
            TLOAD(b, bias, {0});
            TCOLEXPANDMUL(t, t, g);
            TCOLEXPANDADD(t, t, b);
            TSTORE(y, t, {desc.tile * 4});
        }";
    let several = "
        PTO_SHAPE(x, 128, 32)
        PTO_SHAPE(most, 128)
        PTO_SHAPE(sum, 128)
        PTO_SHAPE(y, 128, 32)
        struct A { uint32_t tile; };
        PTO_KERNEL_IMPL(a) {
            auto desc = PTO_GET_DESCRIPTOR<A>();
            VecTile<float, 4, 32> t;
            VecTile<float, 4, 1> m;
            VecTile<float, 4, 1> s;
            TLOAD(t, x, {desc.tile * 4});
            TROWMAX(m, t);
            TROWSUM(s, t);
            TROWEXPANDSUB(t, t, m);
            TSTORE(most, m, {desc.tile * 4});
            TSTORE(sum, s, {desc.tile * 4});
            TSTORE(y, t, {desc.tile * 4});
        }";
    let (x, gain, bias) = (array(&[128, 32], 1), array(&[32], 2), array(&[32], 3));
    for workers in [4, 8] {
        let text = format!(
            "use \"k.pto\"; workload main {{ parallel for i in 0..32 {{ a(i); }} }} schedule {{ workers({workers}); }}"
        );
        is_plain(&text, normalised, &[("x", &x), ("gain", &gain), ("bias", &bias)]);
        is_plain(&text, several, &[("x", &x)]);
    }
}

/// A refusal of what cannot share names tensors, and not nodes of a graph.
#[test]
fn a_kernel_of_more_tensors_than_channels_is_told_which() {
    let kernels = "
        PTO_SHAPE(x, 64, 32)
        PTO_SHAPE(u, 64, 16)
        PTO_SHAPE(v, 64, 8)
        PTO_SHAPE(y, 64, 8)
        struct A { uint32_t tile; };
        PTO_KERNEL_IMPL(a) {
            auto desc = PTO_GET_DESCRIPTOR<A>();
            VecTile<float, 4, 32> t;
            VecTile<float, 4, 16> s;
            VecTile<float, 4, 8> r;
            VecTile<float, 4, 1> m;
            TLOAD(t, x, {desc.tile * 4});
            TLOAD(s, u, {desc.tile * 4});
            TLOAD(r, v, {desc.tile * 4});
            TROWMAX(m, t);
            TROWEXPANDADD(r, r, m);
            TROWMAX(m, s);
            TROWEXPANDADD(r, r, m);
            TSTORE(y, r, {desc.tile * 4});
        }";
    let plan = plan("use \"k.pto\"; workload main { parallel for i in 0..16 { a(i); } }", kernels, "xdna2");
    let arrays = [("x", array(&[64, 32], 1)), ("u", array(&[64, 16], 1)), ("v", array(&[64, 8], 1))];
    let arrays: Vec<(&str, &wsp_memory::Array)> = arrays.iter().map(|(name, array)| (*name, array)).collect();
    let Err(RunError::Refused(found)) = run(&plan, args(&arrays, &[])) else { panic!("it is refused") };
    let told = format!("{found}");
    assert!(found.0[0].code.0 == 1871 && told.contains("`x`, `u`, `v` by 3 fifos"), "{told}");
    assert!(told.contains("load fewer tensors") && !told.contains("node"), "{told}");
}

/// A tile that a loop carries has its whole extent behind the loop: what is stored of it is all of the box, and no input.
#[test]
fn what_a_loop_accumulates_is_stored_as_a_whole() {
    let kernels = "
        PTO_SHAPE(x, 32, 64)
        PTO_SHAPE(w, 64, 16)
        PTO_SHAPE(y, 32, 16)
        struct A { uint32_t i; };
        PTO_KERNEL_IMPL(a) {
            auto desc = PTO_GET_DESCRIPTOR<A>();
            LeftTile<float, 8, 16> l;
            RightTile<float, 16, 16> r;
            AccTile<float, 8, 16> c;
            TASSIGN(c, 0.0f);
            for (uint32_t q = 0; q < 64; q += 16) {
                TLOAD(l, x, {desc.i * 8, q});
                TLOAD(r, w, {q, 0});
                TMATMUL_ACC(c, l, r);
            }
            TSTORE(y, c, {desc.i * 8, 0});
        }";
    let text = "use \"k.pto\"; workload main { parallel for i in 0..4 { a(i); } }";
    is_plain(text, kernels, &[("x", &array(&[32, 64], 1)), ("w", &array(&[64, 16], 2))]);
}

/// A core that keeps a part of a box gives it to the next only when it writes it again: what it makes beside it, and takes of the host, has to have room until then.
#[test]
fn stages_go_on_with_a_last_box_that_is_not_whole() {
    let kernels = "
        PTO_SHAPE(x, rows, 16)
        PTO_SHAPE(y, rows, 16)
        PTO_TENSOR(ring, float, 6, 16)
        PTO_TENSOR(slot, float, 2, 16)
        struct A { uint32_t i, to, by, count; };
        struct B { uint32_t i, from, by, count; };
        PTO_KERNEL_IMPL(twice) {
            auto desc = PTO_GET_DESCRIPTOR<A>();
            VecTile<float, 2, 16> t;
            TLOAD(t, x, {desc.i * 2, 0}, desc.count);
            TMULS(t, t, 2.0f);
            TSTORE(ring, t, {desc.to * 2, 0});
            TSTORE(slot, t, {desc.by * 2, 0});
        }
        PTO_KERNEL_IMPL(add) {
            auto desc = PTO_GET_DESCRIPTOR<B>();
            VecTile<float, 2, 16> t;
            VecTile<float, 2, 16> r;
            TLOAD(t, ring, {desc.from * 2, 0}, desc.count);
            TLOAD(r, slot, {desc.by * 2, 0}, desc.count);
            TADD(t, t, r);
            TLOAD(r, x, {desc.i * 2, 0}, desc.count);
            TADD(t, t, r);
            TSTORE(y, t, {desc.i * 2, 0});
        }";
    let text = "use \"k.pto\"; param n; workload main { channel c[3]; channel d[1]; pipeline {
        process a { parallel for i in 0..n { send c as s { send d as t { twice(i = i, to = s, by = t, count = min(2, 2 * n - 1 - 2 * i)); } } } }
        process b { parallel for i in 0..n { consume c as s { consume d as t { add(i = i, from = s, by = t, count = min(2, 2 * n - 1 - 2 * i)); } } } }
    } }";
    for n in [2, 5, 9] {
        let x = array(&[2 * n, 16], 1);
        let found = run(&plan(text, kernels, "xdna2"), args(&[("x", &x)], &[("n", n as i64)]))
            .unwrap_or_else(|fault| panic!("{n}: {fault:?}"));
        let whole = (2 * n as usize - 1) * 16;
        for (found, x) in numbers(&found.outputs["y"]).iter().zip(numbers(&x)).take(whole) {
            assert!((found - 5.0 * x).abs() < 1e-4, "{n}: {found}, {x}");
        }
    }
}
