//! Runs of task graphs that are not right: they read what nothing has written, or their bytes are in no order.

use super::checks::{Folder, refused};
use super::run;

const KERNELS: &str = "
PTO_SHAPE(x, n)
PTO_SHAPE(y, 2)
PTO_KERNEL_IMPL(one, Tensor<uint32_t> x, Tensor<float> y) {
    PTO_STORE_SCALAR(y, (float)x[3], {0});
    PTO_STORE_SCALAR(y, 1.0f, {1});
}
PTO_KERNEL_IMPL(most, Tensor<uint32_t> x, Tensor<float> y) {
    PTO_STORE_SCALAR(y, (float)*std::max_element(x, x + 4), {0});
    PTO_STORE_SCALAR(y, 1.0f, {1});
}
PTO_KERNEL_IMPL(sum, Tensor<uint32_t> x, Tensor<float> y) {
    PTO_STORE_SCALAR(y, (float)std::accumulate(x, x + 4, 0), {0});
    PTO_STORE_SCALAR(y, 1.0f, {1});
}
PTO_KERNEL_IMPL(count, Tensor<uint32_t> x) {
    for (uint32_t i = 0; i < n; i++) { PTO_STORE_SCALAR(x, i % 2, {i}); }
}
";

/// A folder with the kernels.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("kernels.pto", KERNELS);
    folder
}

/// Graph `G`, in which `entry` reads 16 bytes of `A`, behind the kernels in `before`.
fn reader(entry: &str, before: &str) -> String {
    format!(
        "use \"kernels.pto\"
extern Y: f32[2]
TG_BEGIN(G)
MC_ALLOC(A, 16)
{before}TG_KERNEL(K, {entry}, 1, AIV, 0)
MC_BIND(K, 0, A)
MC_BIND(K, 1, Y)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
"
    )
}

#[test]
fn integers_of_an_array_are_read_where_a_kernel_has_stored_them() {
    let folder = folder();
    for (entry, first) in [("one", 3), ("most", 0), ("sum", 0)] {
        let none = folder.write("none.tg", &reader(entry, ""));
        let (_, err) = refused(&["run", &none]);
        let said = err.contains("WSP0616") && err.contains("`x` is loaded where no task has stored anything");
        assert!(said && err.contains(&format!("has index {first}")), "{entry}: {err}");
        refused(&["run", &none, "--no-check", "--strict"]);
        for switch in ["--no-check", "--check"] {
            let (_, err) = refused(&["run", &none, switch]);
            assert!(err.contains("WSP0616"), "{entry}, {switch}: {err}");
        }
        let with = |bytes: u32| {
            let before = format!("TG_KERNEL(W, count, 1, AIV, 0)\nMC_BIND(W, 0, A, 0, {bytes})\n");
            let text = reader(entry, &before).replace("TG_END", "TG_DEPEND(W, K, DATA, A)\nTG_END");
            folder.write("some.tg", &text)
        };
        let (_, err) = refused(&["run", &with(8)]);
        assert!(err.contains(&format!("has index {}", first.max(2))), "{entry}: {err}");
        let (code, out, err) = run(&["run", &with(16), "--strict"]);
        assert_eq!(code, 0, "{entry}: {out}{err}");
    }
}

/// A copy of bytes that nothing has stored into a tensor that has values of its own would look like these; into memory without values it takes
/// the missing values along, also over what was stored there.
#[test]
fn copies_of_what_nothing_has_stored_are_not_taken_for_values() {
    let folder = folder();
    let unit = |to: &str, declared: &str, copy: &str| {
        let text = format!(
            "use \"kernels.pto\"
{declared}extern Y: f32[2]
MC_ALLOC(A, 16)
TG_BEGIN(G)
TG_KERNEL(V, count, 1, AIV, 0)
MC_BIND(V, 0, A, 0, 8)
TG_KERNEL(W, count, 1, AIV, 0)
MC_BIND(W, 0, {to})
TG_DEPEND(V, W, AFTER)
{copy}
TG_KERNEL(K, one, 1, AIV, 0)
MC_BIND(K, 0, {to})
MC_BIND(K, 1, Y)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
"
        );
        folder.write("unit.tg", &text)
    };
    let extern_p = "extern P: u32[4]\n";
    let (_, err) = refused(&["run", &unit("P", extern_p, "MC_COPY(A, P, 16)")]);
    let said =
        ["WSP0616", "copy.0 overwrites `P` by bytes of `A`", "byte 8", "unit.tg:11", "MC_COPY(A, P, 16)"];
    assert!(said.iter().all(|part| err.contains(part)), "{err}");
    for copy in ["MC_COPY(A, P, 4, 8)", "MC_COPY(A, P, 12, 0, 4)"] {
        for switches in [&["--no-check"][..], &["--no-check", "--strict"]] {
            let (_, err) = refused(&[&["run", &unit("P", extern_p, copy)], switches].concat());
            assert!(err.contains("WSP0616") && err.contains("byte 8"), "{copy}, {switches:?}: {err}");
        }
    }
    let (code, out, err) = run(&["run", &unit("P", extern_p, "MC_COPY(A, P, 8)"), "--strict"]);
    assert_eq!(code, 0, "{out}{err}");
    // Of memory without values the fault is the load.
    let alloc = "MC_ALLOC(P, 16)\n";
    for switch in ["--check", "--no-check"] {
        let (_, err) = refused(&["run", &unit("P", alloc, "MC_COPY(A, P, 16)"), switch]);
        let said = err.contains("WSP0616") && err.contains("`x` is loaded") && err.contains("has index 3");
        assert!(said, "{switch}: {err}");
    }
    for switch in ["--strict", "--no-check"] {
        let (code, out, err) = run(&["run", &unit("P", alloc, "MC_COPY(A, P, 8)"), switch]);
        assert_eq!(code, 0, "{switch}: {out}{err}");
    }
}

/// What decides what a unit does is known, whatever else is checked.
#[test]
fn conditions_and_counts_are_read_where_something_has_stored_them() {
    let folder = folder();
    let kernel = "TG_KERNEL(K, count, 1, AIV, 0)\nMC_BIND(K, 0, Z)\n";
    let launch = "TG_LAUNCH(G, default)\n";
    let within = |open: &str, what: &str, close: &str| format!("{open}\n{what}{close}\n");
    for (graph, host) in [
        (within("CF_IF(load(T) == 0)", kernel, "CF_ENDIF"), launch.to_owned()),
        (within("CF_LOOP(load(T), i)", kernel, "CF_ENDLOOP"), launch.to_owned()),
        (within("CF_WHILE(load(T))", kernel, "CF_ENDWHILE"), launch.to_owned()),
        (kernel.to_owned(), within("CF_IF(load(T) == 0)", launch, "CF_ENDIF")),
        (kernel.to_owned(), within("CF_LOOP(load(T), i)", launch, "CF_ENDLOOP")),
        (kernel.to_owned(), "TG_INVOKE(G, load(T))\n".to_owned()),
    ] {
        let unit = |host: &str| {
            let text = format!(
                "use \"kernels.pto\"
extern Z: u32[4]
MC_ALLOC(T, 16)
TG_BEGIN(W)
TG_KERNEL(K, count, 1, AIV, 0)
MC_BIND(K, 0, T)
TG_END(W)
TG_BEGIN(G)
{graph}TG_END(G)
{host}"
            );
            folder.write("unit.tg", &text)
        };
        let path = unit(&host);
        for check in [&[][..], &["--no-check"]] {
            let (out, err) = refused(&[&["run", &path], check].concat());
            let said = "at byte 0 of `T`, where nothing has stored anything";
            assert!(err.contains(said), "{graph}{host}\n{out}{err}");
        }
        // Not otherwise by way of a copy, which brings what it is a copy of.
        let copied = std::fs::read_to_string(&path).expect("it was written");
        let copied = copied.replace("MC_ALLOC(T, 16)", "MC_ALLOC(S, 16)\nMC_ALLOC(T, 16)");
        let copied = copied.replace(host.as_str(), &format!("TG_LAUNCH(C, default)\nTG_SYNC(C)\n{host}"));
        let copied = copied.replace("TG_BEGIN(G)", "TG_BEGIN(C)\nMC_COPY(S, T, 16)\nTG_END(C)\nTG_BEGIN(G)");
        let (out, err) = refused(&["run", &folder.write("copied.tg", &copied), "--no-check"]);
        assert!(err.contains("where nothing has stored anything"), "{copied}\n{out}{err}");
        let path = unit(&format!("TG_LAUNCH(W, default)\nTG_SYNC(W)\n{host}"));
        let (code, out, err) = run(&["run", &path, "--no-check"]);
        assert_eq!(code, 0, "{graph}{host}\n{out}{err}");
    }
}

/// Of memory that a condition loads every run knows what is stored; one that checks nothing says nothing of the rest.
#[test]
fn a_run_without_a_check_lists_no_unwritten_elements() {
    let folder = folder();
    let kernel = |name: &str| format!("TG_KERNEL({name}, count, 1, AIV, 0)\nMC_BIND({name}, 0, T, 0, 16)\n");
    let (first, second) = (kernel("K"), kernel("L"));
    let text = format!(
        "use \"kernels.pto\"
extern T: u32[8]
TG_BEGIN(W)
{first}TG_END(W)
TG_BEGIN(G)
CF_IF(load(T) == 0)
{second}CF_ENDIF
TG_END(G)
TG_LAUNCH(W, default)
TG_SYNC(W)
TG_LAUNCH(G, default)
TG_SYNC(G)
"
    );
    let unit = folder.write("part.tg", &text);
    let (_, err) = refused(&["run", &unit]);
    assert!(err.contains("WSP0537") && err.contains("4 of 8 elements"), "{err}");
    let (code, out, err) = run(&["run", &unit, "--no-check"]);
    assert_eq!(code, 0, "{out}{err}");
}

/// Memory that a graph gives back and takes anew in its next launch has nothing of the launch before.
#[test]
fn memory_that_was_released_begins_anew() {
    let folder = folder();
    let text =
        reader("one", "CF_IF(iteration == 0)\nTG_KERNEL(W, count, 1, AIV, 0)\nMC_BIND(W, 0, A)\nCF_ENDIF\n");
    let text = text.replace("TG_END", "TG_DEPEND(W, K, DATA, A)\nMC_FREE(A)\nTG_END");
    let twice = |text: &str| text.replace("TG_LAUNCH(G, default)", "TG_INVOKE(G, 0)\nTG_INVOKE(G, 1)");
    let (code, out, err) = run(&["run", &folder.write("once.tg", &text)]);
    assert_eq!(code, 0, "{out}{err}");
    let (_, err) = refused(&["run", &folder.write("twice.tg", &twice(&text))]);
    assert!(err.contains("WSP0616") && err.contains("iteration 1"), "{err}");
}

/// What devices surely do to the same bytes is refused where it is known that there are several.
#[test]
fn devices_that_write_the_same_bytes_are_refused() {
    let folder = folder();
    let unit = |range: &str| {
        let text = format!(
            "use \"kernels.pto\"
extern Z: u32[8]
TG_BEGIN(G)
TG_KERNEL(K, count, 1, AIV, 0)
MC_BIND(K, 0, Z, {range}, 16)
TG_END(G)
TG_LAUNCH(G, default)
"
        );
        folder.write("unit.tg", &text)
    };
    let same = unit("device * 0");
    let said = "devices 0 and 1 use the same bytes of `Z` in no order";
    for args in [&["run", &same, "--devices", "2"][..], &["check", &same, "--devices", "2"]] {
        let (out, err) = refused(args);
        assert!(err.contains("error[WSP1521]") && err.contains(said), "{out}{err}");
    }
    let (code, _, err) = run(&["check", &same]);
    assert!(code == 0 && err.contains("warning[WSP1521]") && err.contains("if several devices run"), "{err}");
    assert_eq!(run(&["run", &same, "--allow-unwritten", "Z"]).0, 0);
    let own = unit("device * 16");
    for args in
        [&["run", &own, "--devices", "2", "--strict"][..], &["check", &own, "--devices", "2", "--strict"]]
    {
        let (code, out, err) = run(args);
        assert_eq!(code, 0, "{out}{err}");
    }
}

/// What the checks cannot compare of launches the run compares, also without checks of its results.
#[test]
fn launches_whose_bytes_only_a_run_knows_are_compared_by_it() {
    let folder = folder();
    let graph = |name: &str, range: &str| {
        format!(
            "TG_BEGIN({name})\nTG_KERNEL(K, count, 1, AIV, 0)\nMC_BIND(K, 0, Z, {range}, 16)\nTG_END({name})\n"
        )
    };
    let text = |range: &str| {
        format!(
            "use \"kernels.pto\"\nhost N: i64 = 1\nextern Z: u32[8]\n{}{}TG_LAUNCH(G, 0)\nTG_LAUNCH(J, 1)\n",
            graph("G", range),
            graph("J", "0")
        )
    };
    let path = folder.write("unit.tg", &text("N * 16"));
    let (code, out, err) = run(&["check", &path, "--strict"]);
    assert!(code == 0 && err.contains("note[WSP1522]"), "{out}{err}");
    let (code, out, err) = run(&["run", &path, "--strict"]);
    assert!(code == 0 && !err.contains("WSP15"), "{out}{err}");
    for args in [&[][..], &["--no-check"], &["--strict"]] {
        let (out, err) = refused(&[&["run", &path, "--set", "N=0"][..], args].concat());
        let said = ["error[WSP1521]", "on stream", "bytes 0 to 16 of `Z`", "TG_SYNC(G)"];
        assert!(out.is_empty() && said.iter().all(|part| err.contains(part)), "{out}{err}");
    }
    let (code, out, err) = run(&["run", &folder.write("apart.tg", &text("16")), "--strict"]);
    assert_eq!(code, 0, "{out}{err}");
}

/// Bytes that do not fit each other are refused before a run where the unit says them, with the kernel's line.
#[test]
fn arguments_of_sizes_that_do_not_agree_are_refused_by_check() {
    let folder = folder();
    folder.write(
        "rows.pto",
        "PTO_SHAPE(a, rows, 32)
PTO_SHAPE(b, rows, 32)
PTO_KERNEL_IMPL(square, Tensor<float> a, Tensor<float> b) {
    for (uint32_t r = 0; r < rows; r += 1) {
        VecTile<float, 1, 32> t;
        TLOAD(t, a, {r});
        TMUL(t, t, t);
        TSTORE(b, t, {r});
    }
}
",
    );
    let unit = |rows: u32, open: &str, close: &str| {
        let text = format!(
            "use \"rows.pto\"
arg N: i64 = 0
extern A: f32[100, 32]
extern B: f32[{rows}, 32]
TG_BEGIN(G)
{open}TG_KERNEL(K, square, 1, AIV, 0)
MC_BIND(K, 0, A)
MC_BIND(K, 1, B)
{close}TG_END(G)
TG_LAUNCH(G, default)
"
        );
        folder.write("unit.tg", &text)
    };
    for rows in [50, 101] {
        let path = unit(rows, "", "");
        for args in [&["check", &path][..], &["run", &path]] {
            let (out, err) = refused(args);
            let said =
                ["error[WSP1548]", "unit.tg:6", "kernel `K` cannot run", "[100, 32] elements of `f32`"];
            assert!(said.iter().all(|part| err.contains(part)), "{args:?}: {out}{err}");
        }
    }
    let (code, out, err) = run(&["check", &unit(100, "", ""), "--strict"]);
    assert_eq!(code, 0, "{out}{err}");
    // A run may go another way.
    let path = unit(50, "CF_IF(N)\n", "CF_ENDIF\n");
    let (code, out, err) = run(&["check", &path]);
    assert!(code == 0 && err.contains("warning[WSP1548]"), "{out}{err}");
    let (out, err) = refused(&["run", &path, "--set", "N=1"]);
    assert!(err.contains("error[WSP1548]") && err.contains("unit.tg:7"), "{out}{err}");
}
