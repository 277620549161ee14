//! What is found of a kernel beside its instructions: lines that tasks of several cores may store to, and extents that are never above 0.

use crate::batch::{Batch, emitted};
use crate::bench::{Kernel, told};
use std::collections::{BTreeMap, BTreeSet};
use wsp_ascend::kernels::{Chip, emit_kernel};
use wsp_core::DType;
use wsp_diag::{Diagnostic, Severity, SourceMap};
use wsp_ir::{Const, Elem, Verified, into_verified};
use wsp_tile::Known;

/// A program with one kernel and a task for each index of an axis.
pub(crate) struct Tasks<'a> {
    /// Shapes of `x` and `y`.
    pub(crate) shapes: [&'a str; 2],
    /// The end of the axis.
    pub(crate) end: &'a str,
    /// The field of the descriptor, over the index `i`.
    pub(crate) field: &'a str,
    pub(crate) body: &'a str,
    /// The type of `x`.
    pub(crate) x: &'a str,
}

pub(crate) const TASKS: Tasks<'_> =
    Tasks { shapes: ["64, 32"; 2], end: "64", field: "i", body: "", x: "Tensor<float>" };

impl Tasks<'_> {
    fn module(&self) -> Verified {
        let Tasks { shapes: [x, y], end, field, body, x: of_x } = self;
        let text = format!(
            "PTO_PARAM(uint32_t, N, 4)
             PTO_SHAPE(x, {x})
             PTO_SHAPE(y, {y})
             PTO_SPACE(S) {{ PTO_AXIS(i, 0, {end}) }}
             struct D {{ uint32_t first; }};
             PTO_KERNEL_IMPL(k) {{ auto desc = PTO_GET_DESCRIPTOR<D>(); {body} }}
             PTO_DESCRIPTOR_GEN(S) {{ PTO_SCHEDULED_FOR(i) {{ PTO_EMIT_DESCRIPTOR(D{{ .first = {field} }}); }} }}
             void go({of_x} x, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .x = x, .y = y }}); }}"
        );
        let (module, found) = wsp_lang::compile("kernel.pto", &text, &mut SourceMap::default());
        let module = module.unwrap_or_else(|| panic!("{text}\n{}", told(&found)));
        into_verified(module).unwrap_or_else(|found| panic!("{}", told(&found)))
    }

    /// What is found with these values of parameters.
    pub(crate) fn found(&self, set: &[(&str, i128)]) -> Vec<Diagnostic> {
        let module = self.module();
        let of = |name: &str| set.iter().find(|(other, _)| *other == name).map(|(_, n)| Const::Int(*n));
        let params: Vec<Option<Const>> = module.params.iter().map(|param| of(&param.name)).collect();
        let elem = |elem: &Elem| if let Elem::Fixed(elem) = elem { Some(*elem) } else { None };
        let elems: Vec<Option<DType>> = module.tensors.iter().map(|tensor| elem(&tensor.elem)).collect();
        let known = Known { params: &params, elems: &elems };
        match emit_kernel(&module, module.function_named("k").unwrap(), known, Chip::A2) {
            Ok(made) => made.notes,
            Err(found) => found,
        }
    }
}

pub(crate) fn codes(found: &[Diagnostic]) -> Vec<u16> {
    found.iter().map(|found| found.code.0).collect::<BTreeSet<u16>>().into_iter().collect()
}

/// Tasks that store a row of `y`, from a column on.
fn row(rows: u32, cols: u32, at: &str) -> String {
    format!("VecTile<float, {rows}, {cols}> t; TLOAD(t, x, {{0, 0}}); TSTORE(y, t, {{{at}}});")
}

/// Tasks that store parts of 8 elements.
fn parts(at: &[&str]) -> String {
    let stores = at.iter().map(|at| format!("TSTORE(y, t, {{{at}}});"));
    "VecTile<float, 1, 8> t; TLOAD(t, x, {0, 0}); ".to_owned() + &stores.collect::<String>()
}

/// Shape of `y`, end of the axis, field, kernel, values of parameters, and whether a line is found that tasks share.
type Shared<'a> = (&'a str, &'a str, &'a str, String, &'a [(&'a str, i128)], bool);

#[test]
fn a_line_of_two_cores_is_found_where_tasks_may_share_one() {
    let scalar = |at: &str| format!("PTO_STORE_SCALAR(y, 1.0f, {{{at}}});");
    let each =
        |at: &str| format!("for (uint32_t c = 0; c < N; c += 1) {{ PTO_STORE_SCALAR(y, 1.0f, {{{at}}}); }}");
    let cases: &[Shared<'_>] = &[
        ("64, 32", "64", "i", row(1, 32, "desc.first, 0"), &[], false),
        ("64, 16", "64", "i", row(1, 16, "desc.first, 0"), &[], false),
        ("64, 15", "64", "i", row(1, 15, "desc.first, 0"), &[], true),
        ("64, 8", "64", "i", row(1, 8, "desc.first, 0"), &[], true),
        ("64, 8", "64", "i", row(8, 8, "desc.first, 0"), &[], true),
        ("64, 8", "8", "i * 8", row(8, 8, "desc.first, 0"), &[], false),
        ("64, 8", "8", "i * 8", row(8, 4, "desc.first, 0"), &[], false),
        ("64, 8", "8", "i * 7", row(8, 8, "desc.first, 0"), &[], true),
        ("64, 8", "7", "i * 9", row(8, 8, "desc.first, 0"), &[], false),
        ("64, 20", "64", "i", scalar("desc.first, 3"), &[], false),
        ("64, 8", "1", "i", row(1, 8, "desc.first, 0"), &[], false),
        ("64, 8", "64", "i", row(1, 8, "0, 0"), &[], false),
        ("64, 32", "64", "i", row(1, 16, "desc.first, 4"), &[], false),
        ("64, 32", "64", "i", row(1, 8, "0, desc.first * 8"), &[], true),
        ("64, 32", "64", "i", row(1, 16, "0, desc.first * 16"), &[], false),
        ("64, 32", "64", "i", row(1, 16, "0, desc.first * 16 + 8"), &[], true),
        ("64", "64", "i", scalar("desc.first"), &[], true),
        ("64", "4", "i * 16", scalar("desc.first"), &[], false),
        ("64, 16", "64", "i", scalar("desc.first, 3"), &[], false),
        ("64, 8", "64", "i", scalar("desc.first, 3"), &[], true),
        ("64, 16", "64", "i", each("desc.first, c"), &[], false),
        ("64, 20", "64", "i", each("desc.first, c"), &[], true),
        ("64", "64", "i", scalar("7"), &[], false),
        ("64", "1", "i", scalar("desc.first"), &[], false),
        ("64, N", "64", "i", scalar("desc.first, 0"), &[("N", 16)], false),
        ("64, N", "64", "i", scalar("desc.first, 0"), &[("N", 12)], true),
        ("64, N", "64", "i", scalar("desc.first, 0"), &[], true),
        // Several stores of a row are one.
        ("64, 24", "64", "i", row(1, 8, "desc.first, 0"), &[], false),
        ("64, 24", "64", "i", parts(&["desc.first, 0", "desc.first, 8", "desc.first, 16"]), &[], true),
        ("64, 32", "64", "i", parts(&["desc.first, 0", "desc.first, 8", "desc.first, 16"]), &[], false),
        ("64, 20", "64", "i", scalar("desc.first, 0") + &scalar("desc.first, 19"), &[], true),
        // What is added to a variable, and how often, may be the task's.
        ("64", "64", "i", format!("uint32_t c = 0; c += desc.first; {}", scalar("c")), &[], true),
        (
            "64",
            "64",
            "i",
            format!("uint32_t c = 0; if (desc.first > 0) {{ c += 1; }} {}", scalar("c")),
            &[],
            true,
        ),
        (
            "64",
            "64",
            "i",
            format!(
                "uint32_t c = 0; for (uint32_t r = 0; r < desc.first; r += 1) {{ c += 1; }} {}",
                scalar("c")
            ),
            &[],
            true,
        ),
        ("64", "64", "i", each("c * (desc.first + 1)"), &[("N", 4)], true),
        (
            "64",
            "64",
            "i",
            format!("for (uint32_t r = 0; r < 64; r += 1) {{ if (r == desc.first) {{ {} }} }}", scalar("r")),
            &[],
            true,
        ),
        (
            "64",
            "64",
            "i",
            format!("for (uint32_t r = 0; r < 64; r += desc.first + 1) {{ {} }}", scalar("r")),
            &[],
            true,
        ),
    ];
    for (shape, end, field, body, set, shares) in cases {
        let tasks = Tasks { shapes: ["64, 32", shape], end, field, body, ..TASKS };
        let found = tasks.found(set);
        let want: &[u16] = if *shares { &[1726] } else { &[] };
        assert_eq!(codes(&found), want, "{shape} {end} {field} {body}\n{}", told(&found));
        assert!(found.iter().all(|found| found.severity == Severity::Warning && found.primary.is_some()));
    }
}

/// Whether two tasks store different elements of one line: tiles of rows and columns from rows on that are so far apart.
fn share(width: usize, [rows, cols]: [usize; 2], column: usize, apart: usize) -> bool {
    let mut lines: BTreeMap<usize, BTreeMap<usize, BTreeSet<usize>>> = BTreeMap::new();
    for task in 0..8 {
        for element in (0..rows * cols).map(|at| (task * apart + at / cols) * width + column + at % cols) {
            lines.entry(element / 16).or_default().entry(task).or_default().insert(element);
        }
    }
    lines.values().any(|tasks| tasks.values().collect::<BTreeSet<_>>().len() > 1)
}

/// Every place where an enumeration of all elements finds a shared line is found, and few others are.
#[test]
fn lines_that_tasks_share_are_those_of_all_their_elements() {
    let (mut shared, mut apart_all, mut more) = (0, 0, 0);
    for width in [8, 12, 16, 20, 32, 48] {
        for tile in [[1, 8], [2, 8], [1, 16], [4, 8]] {
            for column in [0, 4, 8].into_iter().filter(|column| column + tile[1] <= width) {
                for apart in [1, 2, 3, 4] {
                    let (shape, field) = (format!("64, {width}"), format!("i * {apart}"));
                    let body = row(tile[0] as u32, tile[1] as u32, &format!("desc.first, {column}"));
                    let tasks =
                        Tasks { shapes: ["64, 32", &shape], end: "8", field: &field, body: &body, ..TASKS };
                    let found = !tasks.found(&[]).is_empty();
                    let truly = share(width, tile, column, apart);
                    assert!(found || !truly, "{width} {tile:?} from {column}, {apart} apart");
                    shared += usize::from(truly);
                    apart_all += usize::from(!truly);
                    more += usize::from(found && !truly);
                }
            }
        }
    }
    assert!(shared > 15 && apart_all > 150, "{shared} {apart_all}");
    assert!(more * 10 <= apart_all, "{more} of {apart_all} that share no line are found as well");
}

#[test]
fn additions_to_memory_are_no_stores_of_a_line() {
    let body = row(1, 8, "desc.first, 0");
    let tasks = Tasks { shapes: ["64, 32", "64, 8"], body: &body, ..TASKS };
    assert_eq!(codes(&tasks.found(&[])), [1726]);
    let body = body.replace("TSTORE(", "TSTORE_ATOMIC_ADD(");
    assert_eq!(codes(&Tasks { body: &body, ..tasks }.found(&[])), [0; 0]);
}

#[test]
fn a_line_of_two_cores_is_told_with_its_numbers_and_what_to_do() {
    let body = "PTO_STORE_SCALAR(y, 1.0f, {desc.first, 0});";
    let said = |shape: &str| {
        let found = Tasks { shapes: ["64, 32", shape], body, ..TASKS }.found(&[]);
        let label = found[0].primary.clone().unwrap().text;
        format!("{label}\n{}", told(&found))
    };
    let text = said("64, 15");
    for part in [
        "warning[WSP1726]",
        "of `y`",
        "60 bytes apart, which is no multiple of 64",
        "cache of a core",
        "16 elements of f32",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = said("64, N");
    assert!(text.contains("is not known") && text.contains("`--set N=VALUE`"), "{text}");
}

#[test]
fn extents_that_are_never_above_0_are_found() {
    let load = |rows: &str| {
        format!("VecTile<float, 8, 32> t; TLOAD(t, x, {{0, 0}}, {rows}); TSTORE(y, t, {{0, 0}});")
    };
    let fill =
        |rows: &str| format!("VecTile<float, 8, 32> t; TASSIGN(t, 1.0f, {rows}); TSTORE(y, t, {{0, 0}});");
    let local = |rows: &str| {
        format!(
            "VecTile<float, 8, 32> t; uint32_t n = {rows}; TLOAD(t, x, {{0, 0}}, 8, n); TSTORE(y, t, {{0, 0}});"
        )
    };
    let cases: &[(String, i128, Option<Severity>)] = &[
        (load("N"), 8, None),
        (load("N"), 0, Some(Severity::Warning)),
        (load("N - 4"), 5, None),
        (load("N - 4"), 4, Some(Severity::Warning)),
        (load("N - 4"), 3, Some(Severity::Error)),
        (fill("N"), 1, None),
        (fill("N"), 0, Some(Severity::Warning)),
        (fill("8, N - 4"), 3, Some(Severity::Error)),
        (local("N - 4"), 5, None),
        (local("N - 4"), 3, Some(Severity::Error)),
        // A condition may keep it from running.
        (format!("if (desc.first > 3) {{ {} }}", load("N - 4")), 3, Some(Severity::Warning)),
        // What a launch decides is compared with 0 by the kernel.
        (load("desc.first"), 4, None),
        (load("desc.first - N"), 4, None),
    ];
    for (body, n, want) in cases {
        let found = Tasks { body, ..TASKS }.found(&[("N", *n)]);
        let have: Vec<Severity> = found.iter().map(|found| found.severity).collect();
        assert_eq!(have, Vec::from_iter(*want), "{body} with {n}\n{}", told(&found));
        assert!(found.iter().all(|found| found.code.0 == 1727), "{body}: {}", told(&found));
    }
}

#[test]
fn places_that_a_tensor_does_not_have_are_found() {
    let store = |at: &str| format!("VecTile<float, 1, 8> t; TLOAD(t, x, {{0, 0}}); TSTORE(y, t, {{{at}}});");
    let load = |at: &str| format!("VecTile<float, 1, 8> t; TLOAD(t, x, {{{at}}}); TSTORE(y, t, {{0, 0}});");
    let (warning, error) = (Some(Severity::Warning), Some(Severity::Error));
    // The shape of both is 64, 32, and `N` is 4.
    let cases = [
        (store("N * 16, 0"), error, "a store begins at row 64 of `y`, which has 64"),
        (store("N * 16 - 1, 0"), None, ""),
        (store("0, N * 8"), error, "a store begins at column 32 of `y`, which has 32"),
        (store("N - 8, 0"), error, "a store begins at row -4 of `y` whenever it runs"),
        (format!("if (desc.first > 70) {{ {} }}", store("N - 8, 0")), warning, "row -4 of `y`"),
        (
            format!("for (uint32_t r = 0; r < desc.first; r += 1) {{ {} }}", store("N * 16, 0")),
            warning,
            "row 64 of `y`",
        ),
        (load("0, N - 5"), error, "a load begins at column -1 of `x` whenever it runs"),
        (load("N * 16, 0"), warning, "a load begins at row 64 of `x`, which has 64"),
        (load("N * 16 - 1, 0"), None, ""),
    ];
    for (body, severity, message) in cases {
        let found = Tasks { end: "1", body: &body, ..TASKS }.found(&[("N", 4)]);
        let found: Vec<&Diagnostic> = found.iter().filter(|found| found.severity != Severity::Note).collect();
        assert_eq!(found.first().map(|found| found.severity), severity, "{body}");
        assert!(found.iter().all(|found| found.code.0 == 1727 && found.message.contains(message)), "{body}");
        assert!(found.iter().all(|found| !found.help.is_empty()), "{body}");
    }
}

#[test]
fn stores_and_insertions_that_end_outside_are_found() {
    let tile = |rows: u32, cols: u32| format!("VecTile<float, {rows}, {cols}> t; TLOAD(t, x, {{0, 0}}); ");
    let store = |[rows, cols]: [u32; 2], at: &str| tile(rows, cols) + &format!("TSTORE(y, t, {{{at}}});");
    let insert = |at: &str| {
        tile(8, 32)
            + &format!(
                "VecTile<float, 4, 8> p; TASSIGN(p, 1.0f); TINSERT(t, p, {at}); TSTORE(y, t, {{0, 0}});"
            )
    };
    let (warning, error) = (Some(Severity::Warning), Some(Severity::Error));
    // Of `y` the shape is 60, 24; `N` is 4.
    let cases = [
        (store([8, 24], "desc.first, 0"), None, "", ""),
        (store([8, 32], "desc.first, 0"), error, "columns 0 to 31 of `y` are written", "at most 24 columns"),
        (
            store([8, 16], "0, N + 5"),
            error,
            "columns 9 to 24 of `y`",
            "at most 15 columns, or begin at column 8",
        ),
        (store([8, 16], "0, N + 4"), None, "", ""),
        (store([64, 16], "0, 0"), error, "rows 0 to 63 of `y` are written", "at most 60 rows"),
        (
            store([8, 16], "N * 13 + 1, 0"),
            error,
            "rows 53 to 60 of `y`",
            "at most 7 rows, or begin at row 52",
        ),
        (
            format!("if (desc.first > 3) {{ {} }}", store([8, 32], "0, 0")),
            warning,
            "columns 0 to 31 of `y`",
            "",
        ),
        (
            format!("for (uint32_t r = 0; r < N; r += 1) {{ {} }}", store([8, 32], "0, 0")),
            warning,
            "columns 0 to 31",
            "",
        ),
        // What a launch decides is not known.
        (store([8, 16], "0, desc.first"), None, "", ""),
        (store([8, 32], "0, 0").replacen("{0, 0});", "{0, 0}, 8, desc.first);", 1), None, "", ""),
        (insert("4, 24"), None, "", ""),
        (
            insert("4, N * 6 + 1"),
            error,
            "columns 25 to 32 of `t`",
            "at most 7 columns, or begin at column 24",
        ),
        (insert("5, 0"), error, "rows 5 to 8 of `t`", "at most 3 rows, or begin at row 4"),
        (insert("desc.first, 0"), None, "", ""),
    ];
    for (body, severity, message, help) in cases {
        let shapes = ["64, 32", "60, 24"];
        let found = Tasks { end: "1", shapes, body: &body, ..TASKS }.found(&[("N", 4)]);
        // The last store of the tile itself has more columns than `y`.
        let found: Vec<&Diagnostic> = found
            .iter()
            .filter(|found| {
                found.code.0 == 1727 && !(body.contains("TINSERT") && found.message.contains("of `y`"))
            })
            .collect();
        assert_eq!(
            found.iter().map(|found| found.severity).collect::<Vec<_>>(),
            Vec::from_iter(severity),
            "{body}"
        );
        for found in found {
            assert!(found.message.contains(message) && found.help[0].contains(help), "{body}: {found:?}");
        }
    }
}

/// A statistic of one row takes that row and one beside it.
#[test]
fn rows_of_8192_columns_are_normalised_one_by_one() {
    let body = "VecTile<float, 1, 8192> t; VecTile<float, 1, 8192> s; VecTile<float, 1, 1> m;
         TLOAD(t, x, {desc.first, 0}); TMUL(s, t, t); TROWMEAN(m, s); TRSQRT(m, m); TROWEXPANDMUL(t, t, m);
         TSTORE(y, t, {desc.first, 0});";
    let found = Tasks { shapes: ["64, 8192"; 2], body, ..TASKS }.found(&[]);
    assert_eq!(found, [], "{}", told(&found));
}

/// Rows that are 0, or a difference below 0, are none, in one kind of core and in the tasks of two.
#[test]
fn what_a_launch_decides_of_extents_is_compared_with_0_by_the_kernel() {
    let of = |count: &str| {
        format!(
            "VecTile<float, 8, 32> t; TLOAD(t, x, {{0, 0}}, {count}); TADDS(t, t, 1.0f); TSTORE(y, t, {{8, 0}});"
        )
    };
    let local = of("n").replace("t; ", "t; uint32_t n = desc.a - desc.b; ");
    let signed = of("(uint32_t)((int32_t)desc.a - (int32_t)desc.b)");
    let real = of("(uint32_t)((float)desc.a - (float)desc.b)");
    let far = of("8").replace(
        "TLOAD(t, x, {0, 0}",
        "uint64_t p = (uint64_t)desc.a + (uint64_t)desc.b * 2147483648; TLOAD(t, x, {p, 0}",
    );
    let loops = format!("for (uint32_t i = 0; i < desc.a - desc.b; i += 1) {{ {} }}", of("8"));
    let nothing = Kernel::new(
        "VecTile<float, 8, 32> t; if (desc.a > 1000) { TLOAD(t, x, {0, 0}); TSTORE(y, t, {0, 0}); }",
    );
    for chip in [Chip::A2, Chip::A5] {
        let mut batch = Batch::new(chip, "below");
        for (name, body) in [
            ("count", of("desc.a")),
            ("difference", of("desc.a - desc.b")),
            ("variable", local.clone()),
            ("signed", signed.clone()),
            ("real", real.clone()),
            ("loop", loops.clone()),
            ("far", far.clone()),
        ] {
            let kernel = Kernel::new(&body);
            if name == "far" {
                // The place is 2 more than 32 bits hold: no row is loaded, and none stored.
                batch.add(name, &kernel, &[[2, 0, 0, 0]], 0.0);
                batch.add_as(name, &kernel, &nothing, &[[2, 2, 0, 0]], 0.0);
                continue;
            }
            batch.add(name, &kernel, &[[5, 2, 0, 0]], 0.0);
            batch.add_as(name, &kernel, &nothing, &[[0, 0, 0, 0]], 0.0);
            if name != "count" {
                // A plain run stops here.
                batch.add_as(name, &kernel, &nothing, &[[2, 5, 0, 0]], 0.0);
            }
        }
        batch.run();
    }
}

/// With such extents in the types of tiles the text would not compile, whatever decides whether the statement runs.
#[test]
fn operands_that_go_together_in_no_run_are_refused() {
    let tiles =
        "VecTile<float, 8, 32> t; VecTile<float, 8, 32> u; VecTile<float, 8, 1> c; VecTile<float, 1, 32> r;
         VecTile<float, 8, 32> m; TLOAD(t, x, {0, 0}); TRELU(m, t);";
    for (loads, statement, fits) in [
        ("TLOAD(u, x, {0, 0}, 8, 31);", "TADD(t, t, u);", false),
        ("TLOAD(u, x, {0, 0}, 7, 32);", "TADD(t, t, u);", false),
        ("TLOAD(u, x, {0, 0}, 8, 32);", "TADD(t, t, u);", true),
        ("TLOAD(u, x, {0, 0}, desc.a, 32);", "TADD(t, t, u);", true),
        ("TLOAD(c, x, {0, 0}, 7, 1);", "TROWEXPANDADD(t, t, c);", false),
        ("TLOAD(c, x, {0, 0}, 8, 1);", "TROWEXPANDADD(t, t, c);", true),
        ("TLOAD(r, x, {0, 0}, 1, 31);", "TCOLEXPANDADD(t, t, r);", false),
        ("TLOAD(r, x, {0, 0}, 1, 32);", "TCOLEXPANDADD(t, t, r);", true),
        ("TLOAD(u, x, {0, 0}, 8, 31);", "TSEL(t, m, t, u);", false),
        ("TLOAD(u, x, {0, 0}, 8, 31);", "TSEL(t, m, u, t);", false),
        ("TLOAD(u, x, {0, 0}, 8, 32);", "TSEL(t, m, t, u);", true),
    ] {
        for statement in [statement.to_owned(), format!("if (desc.first == 9) {{ {statement} }}")] {
            let body = format!("{tiles} {loads} {statement} TSTORE(y, t, {{desc.first * 8, 0}});");
            let body = body.replace("desc.a", "desc.first");
            let found = Tasks { shapes: ["64, 32", "64, 32"], body: &body, ..TASKS }.found(&[]);
            assert_eq!(codes(&found), if fits { Vec::new() } else { vec![1730] }, "{body}\n{}", told(&found));
        }
    }
}

#[test]
fn rounds_that_a_condition_gives_to_tasks_are_parts_of_them() {
    let tile = "VecTile<float, 2, 1> t; VecTile<float, 1, 1> one; TASSIGN(t, 1.0f); TASSIGN(one, 1.0f);";
    for (body, shared) in [
        (
            "for (uint32_t p = 0; p < 6; p += 1) { if (p == desc.first) { TSTORE(y, t, {PTO_ROWS(1), p}); } }",
            true,
        ),
        (
            "for (uint32_t p = 0; p < 6; p += 1) { if (p == desc.first) { TSTORE(y, t, {PTO_ROWS(1), p * 16}); } }",
            false,
        ),
        (
            "for (uint32_t p = 0; p < 6; p += 1) { uint32_t own = p + desc.first; if (own == 7) { TSTORE(y, one, {PTO_ROWS(2), p}); } }",
            true,
        ),
        (
            "for (uint32_t q = 0; q < 4; q += 1) { for (uint32_t p = 0; p < 6; p += 1) {
                 if (p != desc.first) { TSTORE(y, one, {PTO_ROWS(q), p}); } } }",
            true,
        ),
        (
            "for (uint32_t p = 0; p < 6; p += 1) { if (desc.first > 1) { TSTORE(y, one, {desc.first, p}); } }",
            false,
        ),
        ("for (uint32_t p = 0; p < 16; p += 1) { TSTORE(y, one, {0, desc.first * 16 + p}); }", false),
        ("uint32_t p = 0; if (desc.first > 1) { p += 1; } TSTORE(y, t, {PTO_ROWS(p), p * 4});", true),
        ("uint32_t p = 0; if (desc.first > 1) { p += 16; } TSTORE(y, one, {1, p});", false),
        // The place says which task it is, and tasks of one place choose the same.
        ("for (uint32_t p = 0; p < 32; p += 1) { if (p < desc.first) { TSTORE(y, one, {desc.first, p}); } }", false),
        ("for (uint32_t p = 0; p < 32; p += 1) { if (p < 8 && desc.first > 1) { TSTORE(y, one, {desc.first * 2 + 1, p}); } }", false),
        ("for (uint32_t p = 0; p < 16; p += 1) { if (p < desc.first % 7) { PTO_STORE_SCALAR(y, 1.0f, {2, 16 * desc.first + p}); } }", false),
        ("for (uint32_t p = 0; p < 6; p += 1) { if (p == desc.first % 6) { TSTORE(y, one, {desc.first / 6, p}); } }", true),
        // The task and the round stand in different expressions.
        ("for (uint32_t p = 0; p < 6; p += 1) { if (desc.first == 0) { if (p < 3) { TSTORE(y, one, {1, p}); } } else { if (p > 2) { TSTORE(y, one, {1, p}); } } }", true),
        ("for (uint32_t p = 0; p < 6; p += 1) { for (uint32_t q = p; q < desc.first; q += 1) { TSTORE(y, one, {1, p}); } }", true),
        ("for (uint32_t p = 0; p < 6; p += 1) { for (uint32_t q = desc.first; q < p + 1; q += 1) { for (uint32_t r = p; r < desc.first + 1; r += 1) {
              TSTORE(y, t, {PTO_ROWS(1), p}); } } }", true),
        ("uint32_t p = 0; while (p < desc.first) { VecTile<float, 1, 1> u; TASSIGN(u, 1.0f); TSTORE(y, u, {desc.first, p}); p += 1; }", false),
        // A tile without rows stores nothing, so that what decides its rows picks the round.
        (
            "for (uint32_t p = 0; p < 6; p += 1) { VecTile<float, 1, 1> u; if (p == desc.first) { TASSIGN(u, 1.0f); } TSTORE(y, u, {0, p}); }",
            true,
        ),
        (
            "for (uint32_t p = 0; p < 6; p += 1) { VecTile<float, 1, 1> u; if (p == desc.first) { TASSIGN(u, 1.0f); } TSTORE(y, u, {0, p * 16}); }",
            false,
        ),
        (
            "VecTile<float, 1, 1> u; VecTile<float, 1, 1> v; for (uint32_t p = 0; p < 6; p += 1) {
              TASSIGN(u, 1.0f, p == desc.first ? 1u : 0u); TADDS(v, u, 1.0f); TSTORE(y, v, {0, p}); }",
            true,
        ),
        (
            "VecTile<float, 1, 1> u; for (uint32_t p = 0; p < 6; p += 1) { TLOAD(u, x, {p + desc.first * 12, 0}); TSTORE(y, u, {0, p}); }",
            true,
        ),
        (
            "VecTile<float, 1, 1> u; for (uint32_t p = 0; p < 6; p += 1) { TASSIGN(u, 1.0f, desc.first); TSTORE(y, u, {0, p}); }",
            false,
        ),
        (
            "VecTile<float, 1, 1> u; for (uint32_t p = 0; p < 6; p += 1) { TASSIGN(u, 1.0f, p > 2 ? 1u : 0u); TSTORE(y, u, {0, p}); }",
            false,
        ),
        (
            "VecTile<float, 1, 16> u; for (uint32_t p = 0; p < 16; p += 1) { TLOAD(u, x, {p + desc.first, 0}); TSTORE(y, u, {p, desc.first * 16}); }",
            false,
        ),
    ] {
        let found =
            Tasks { shapes: ["64, 32", "64, 1024"], body: &format!("{tile} {body}"), ..TASKS }.found(&[]);
        assert_eq!(codes(&found), if shared { vec![1726] } else { Vec::new() }, "{body}\n{}", told(&found));
    }
}

/// Of `y` a row is one line, and `one` four of its sixteen elements: tasks that reach one row store other columns there, or the same.
#[test]
fn rounds_that_bring_tasks_to_one_place_with_other_elements_share_lines() {
    let tiles = "VecTile<float, 1, 4> one; VecTile<float, 2, 4> two; VecTile<float, 1, 4> u; TASSIGN(one, 1.0f); TASSIGN(two, 1.0f);";
    let rounds = |body: &str| format!("for (uint32_t l = 0; l < 4; l += 1) {{ {body} }}");
    let twice = |body: &str| rounds(&format!("for (uint32_t m = 0; m < 4; m += 1) {{ {body} }}"));
    for (body, shared) in [
        // One round decides the row and the column.
        (rounds("TSTORE(y, one, {desc.first + l, l * 4});"), true),
        (rounds("PTO_STORE_SCALAR(y, 1.0f, {desc.first + l, l});"), true),
        ("uint32_t r = desc.first; ".to_owned() + &rounds("TSTORE(y, one, {r, l * 4}); r += 1;"), true),
        (rounds("uint32_t c = l * 4; TSTORE(y, one, {desc.first + l, c});"), true),
        // A variable carries what the rounds of all loops around add, or what a condition adds.
        (
            "uint32_t r = desc.first; for (uint32_t m = 0; m < 2; m += 1) { for (uint32_t n = 0; n < 3; n += 1) { TSTORE(y, one, {r, m * 4}); r += 1; } }".to_owned(),
            true,
        ),
        (
            "uint32_t r = desc.first; ".to_owned() + &rounds("TSTORE(y, one, {r, l * 4}); if (l < 1) { r += 1; }"),
            true,
        ),
        (
            rounds("uint32_t r = desc.first; if (l > 0) { r += 1; } TSTORE(y, one, {r, l * 4});"),
            true,
        ),
        (
            rounds("uint32_t r = desc.first; for (uint32_t n = 0; n < l; n += 1) { r += 1; } TSTORE(y, one, {r, l * 4});"),
            true,
        ),
        // A condition, or what decides the rows of a tile, ties one round to another.
        (twice("if (l == m) { TSTORE(y, one, {desc.first + l, m * 4}); }"), true),
        (twice("TASSIGN(u, 1.0f, l == m ? 1u : 0u); TSTORE(y, u, {desc.first + l, m * 4});"), true),
        (
            rounds("for (uint32_t m = l; m < l + 1; m += 1) { TSTORE(y, one, {desc.first + l, m * 4}); }"),
            true,
        ),
        (
            rounds(
                "if (l == 0) { TSTORE(y, one, {desc.first + l, 0}); } else { TSTORE(y, one, {desc.first + l, 4}); }",
            ),
            true,
        ),
        // The row does not say which task it is, so that tasks choose other rounds of one row.
        (
            rounds(
                "if (l == desc.first) { for (uint32_t m = 0; m < 2; m += 1) { TSTORE(y, one, {desc.first + m, l * 4}); } }",
            ),
            true,
        ),
        (rounds("if (l == desc.first) { TSTORE(y, two, {desc.first, l * 4}); }"), true),
        (twice("if (m == desc.first) { TSTORE(y, one, {desc.first + l, m * 4}); }"), true),
        // All tasks that reach a row store the same of it.
        (twice("TSTORE(y, one, {desc.first + l, m * 4});"), false),
        (rounds("TSTORE(y, one, {desc.first + l, 4});"), false),
        (rounds("if (l > 1) { TSTORE(y, u, {desc.first + l, 0}); }").replace("4> u", "16> u"), false),
        // A row is that of one task.
        (rounds("TSTORE(y, one, {desc.first * 4 + l, l * 4});"), false),
        (rounds("TSTORE(y, one, {4 * desc.first + l + 1, l * 4});"), false),
        (rounds("TSTORE(y, one, {(desc.first + l * 0) * 2, l * 4});"), false),
        (rounds("if (l == desc.first) { TSTORE(y, two, {desc.first * 2, l * 4}); }"), false),
        (rounds("if (desc.first + l < 9) { TSTORE(y, one, {desc.first * 4 + l, 4}); }"), false),
        (rounds("TSTORE(y, one, {desc.first * 3 + l, l * 4});"), true),
    ] {
        let body = format!("{tiles} {body}");
        let found = Tasks { shapes: ["64, 32", "64, 16"], end: "4", body: &body, ..TASKS }.found(&[]);
        assert_eq!(codes(&found), if shared { vec![1726] } else { Vec::new() }, "{body}\n{}", told(&found));
    }
}

#[test]
fn places_are_rounded_by_conversions_that_change_the_type() {
    for chip in Chip::ALL {
        let body = "VecTile<float, 8, 32> t; TLOAD(t, x, {0, 0}); TMASK_BAND(t, 0, 4, 2, 0.0f); TSTORE(y, t, {0, 0});";
        let text = emitted(&Kernel::new(body), chip).unwrap().text;
        let divided =
            text.lines().skip_while(|line| !line.contains("TDIVS(")).find(|line| line.contains("TCVT("));
        let first = divided.unwrap().trim().trim_start_matches("TCVT(").split(',').next().unwrap().to_owned();
        let declared = text
            .lines()
            .find(|line| line.contains(&format!("> {first};")) || line.contains(&format!("> {first}(")));
        assert!(declared.unwrap().contains("int32_t"), "{text}");
    }
}
