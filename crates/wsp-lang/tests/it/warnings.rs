//! Every program of `filetests/warnings/pto.txt` has the warnings that it announces and no others, and the programs of the
//! project have none.
//!
//! The file holds cases: a line `=== name`, then the source up to the next case. A line with `// warning: [CODE] text` must
//! have a warning with this code whose message contains the text.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use wsp_diag::{CODES, Diagnostic, SourceMap, render};
use wsp_lang::Purpose;

/// Compiles with warnings; files that are included lie in the folder of the program.
#[expect(clippy::disallowed_methods, reason = "a test reads its programs")]
fn check(name: &str, text: &str, sources: &mut SourceMap) -> Vec<Diagnostic> {
    let mut read = |path: &Path| {
        let text = std::fs::read_to_string(path);
        text.map_err(|why| Diagnostic::error(CODES[0][0].code, format!("{}: {why}", path.display())))
    };
    wsp_lang::check_with(name, text, Purpose::Program, sources, &mut read).1
}

#[expect(clippy::disallowed_methods, reason = "a test reads its cases")]
fn cases() -> Vec<(String, String)> {
    let path = format!("{}/../../filetests/warnings/pto.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the cases can be read");
    let mut cases: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("=== "), cases.last_mut()) {
            (Some(name), _) => cases.push((name.to_owned(), String::new())),
            (None, Some((_, source))) => source.extend([line, "\n"]),
            (None, None) => assert!(line.is_empty() || line.starts_with('#'), "no case before `{line}`"),
        }
    }
    cases
}

/// The warnings that a program announces: line, code, text.
fn announced(source: &str) -> Vec<(u32, &str, &str)> {
    let marks = source.lines().zip(1..).filter_map(|(line, number)| {
        let (code, text) = line.split_once("// warning: [")?.1.split_once(']')?;
        Some((number, code, text.trim()))
    });
    marks.collect()
}

fn failure(name: &str, source: &str) -> Option<String> {
    let mut sources = SourceMap::default();
    let found = check("case.pto", source, &mut sources);
    let line = |d: &Diagnostic| d.primary.as_ref().map_or(0, |label| sources.line_col(label.span).0);
    let announced = announced(source);
    let is = |d: &Diagnostic, (number, code, text): &(u32, &str, &str)| {
        !d.is_error() && line(d) == *number && d.code.to_string() == *code && d.message.contains(text)
    };
    let missing: Vec<_> = announced.iter().filter(|mark| !found.iter().any(|d| is(d, mark))).collect();
    let surplus: Vec<String> = found
        .iter()
        .filter(|d| !announced.iter().any(|mark| is(d, mark)))
        .map(|d| render(d, &sources, false))
        .collect();
    let right = missing.is_empty() && surplus.is_empty();
    (!right)
        .then(|| format!("{name}: not reported: {missing:?}; not announced:\n{}{source}", surplus.concat()))
}

#[test]
fn every_program_has_the_warnings_that_it_announces() {
    let cases = cases();
    let failures: Vec<String> = cases.iter().filter_map(|(name, source)| failure(name, source)).collect();
    assert!(failures.is_empty(), "{} of {} fail:\n\n{}", failures.len(), cases.len(), failures.join("\n"));
    let shown: BTreeSet<String> =
        cases.iter().flat_map(|(_, source)| announced(source)).map(|(_, code, _)| code.to_owned()).collect();
    let codes = CODES.iter().chain(wsp_lang::CODES).flat_map(|group| group.iter()).map(|info| info.code);
    let listed: BTreeSet<String> =
        codes.filter(|code| (260..280).contains(&code.0)).map(|code| code.to_string()).collect();
    let missing: Vec<&String> = listed.difference(&shown).collect();
    assert!(missing.is_empty(), "no case has {missing:?}");
}

fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|e| e == "pto") {
            found.push(path);
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads the programs")]
fn the_programs_of_the_project_have_no_warnings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    for folder in ["examples", "testdata"] {
        programs(&root.join(folder), &mut paths);
    }
    paths.sort();
    let mut shown = String::new();
    for path in &paths {
        let text = std::fs::read_to_string(path).expect("a program can be read");
        let mut sources = SourceMap::default();
        let found = check(&path.display().to_string(), &text, &mut sources);
        // A file that programs include may not compile by itself.
        for warning in found.iter().filter(|d| !d.is_error()) {
            shown.push_str(&render(warning, &sources, false));
        }
    }
    assert!(shown.is_empty(), "{shown}");
    assert!(paths.len() >= 20, "only {} programs", paths.len());
}

#[test]
fn kernels_of_a_library_may_be_run_by_others() {
    let text = "PTO_SHAPE(y, n)
        struct D { uint32_t i; uint32_t other; };
        PTO_KERNEL_IMPL(k) { auto d = PTO_GET_DESCRIPTOR<D>(); uint32_t m = 1; PTO_STORE_SCALAR(y, 1.0f, {d.i}); }
        PTO_SPACE(S) { PTO_AXIS(none, 0, 0) }
        PTO_DESCRIPTOR_GEN(S) { }
        void entry(Tensor<float> y) { PTO_LAUNCH(S, {.y = y}); }";
    let codes = |purpose| {
        let mut read = |_: &Path| Ok(String::new());
        let (_, found) = wsp_lang::check_with("a.pto", text, purpose, &mut SourceMap::default(), &mut read);
        found.iter().map(|d| d.code.0).collect::<Vec<u16>>()
    };
    assert_eq!(codes(Purpose::Program), [268, 263, 260]);
    assert_eq!(codes(Purpose::Library), [260]);
}

/// A branch and a loop that may have no round are evaluated by the runs that come to them, as the right side of `&&` is.
#[test]
fn a_constant_without_a_value_is_an_error_where_every_task_comes_to_it() {
    let found = |statement: &str| {
        let program = format!(
            "struct R {{ uint32_t i; }};
             PTO_KERNEL_IMPL(k) {{ auto d = PTO_GET_DESCRIPTOR<R>(); uint32_t n = d.i; {statement} }}"
        );
        let (_, found) = wsp_lang::compile("a.pto", &program, &mut wsp_diag::SourceMap::default());
        let found: Vec<bool> = found.iter().filter(|d| d.code.0 == 122).map(|d| d.is_error()).collect();
        found
    };
    assert_eq!(found("n = 5 % 0;"), [true]);
    assert_eq!(found("if (n > 3) { n = 5 % 0; }"), [false]);
    assert_eq!(found("if (n > 3) { } else { n = 5 % 0; }"), [false]);
    assert_eq!(found("if (false) { n = 5 % 0; }"), [false; 0]);
    assert_eq!(found("if (true) { n = 1; } else { n = 5 % 0; }"), [false; 0]);
    assert_eq!(found("if (true) { n = 5 % 0; }"), [true]);
    assert_eq!(found("for (uint32_t i = 0; i < n; ++i) { n = 5 % 0; }"), [false]);
    assert_eq!(found("for (uint32_t i = 0; i < 3; ++i) { n = 5 % 0; }"), [true]);
    assert_eq!(found("for (uint32_t i = 3; i < 3; ++i) { n = 5 % 0; }"), [false; 0]);
    assert_eq!(found("while (n < 3) { n = 5 % 0; }"), [false]);
    assert_eq!(found("do { n = 5 % 0; } while (n < 3);"), [true]);
    assert_eq!(found("while (true) { n = 5 % 0; }"), [true]);
    // Some runs leave before they come to it, or none does.
    assert_eq!(found("if (n == 1) { return; } n = 5 % 0;"), [false]);
    assert_eq!(found("if (false) { return; } n = 5 % 0;"), [true]);
    assert_eq!(found("if (true) { return; } n = 5 % 0;"), [false; 0]);
    assert_eq!(found("for (uint32_t i = 0; i < 3; ++i) { if (n == 1) { return; } } n = 5 % 0;"), [false]);
    assert_eq!(found("for (uint32_t i = 0; i < 3; ++i) { if (i == n) { break; } } n = 5 % 0;"), [true]);
    assert_eq!(found("for (uint32_t i = 0; i < 3; ++i) { if (i == n) { continue; } n = 5 % 0; }"), [false]);
}

/// The first element past the end is refused wherever a constant says both, and the last one never.
#[test]
fn a_constant_past_a_constant_size_is_an_error_where_every_task_comes_to_it() {
    let found = |generator: &str, kernel: &str| {
        let program = format!(
            "PTO_SHAPE(x, 64, n) PTO_SHAPE(y, 64, n) PTO_SHAPE(lens, 4) PTO_SHAPE(kv, 3, PTO_DYNAMIC, 2, 8)
             PTO_WORKSPACE(w, float, 8, 8) PTO_SPACE(S) {{ PTO_AXIS(i, 0, n) }}
             PTO_TIER_DEF(T) {{ PTO_TIER(v < 3, one, 256) PTO_DEFAULT(two, 512) }}
             struct D {{ uint32_t tier, first; }};
             PTO_DESCRIPTOR_GEN(S) {{ PTO_SCHEDULED_FOR(i) {{ uint32_t tier = PTO_SELECT_TIER(T, i); uint32_t f = i;
                 {generator} PTO_EMIT_DESCRIPTOR(D{{ .tier = tier, .first = f }}); }} }}
             PTO_KERNEL_IMPL(one) {{ auto d = PTO_GET_DESCRIPTOR<D>(); uint32_t f = d.first; VecTile<float, 8, 1> t;
                 {kernel} }}
             PTO_KERNEL_IMPL(two) {{ auto d = PTO_GET_DESCRIPTOR<D>(); }}"
        );
        let (module, found) = wsp_lang::compile("a.pto", &program, &mut wsp_diag::SourceMap::default());
        assert_eq!(module.is_none(), found.iter().any(|d| d.is_error()), "{found:?}");
        let found: Vec<(u16, bool)> = found.iter().map(|d| (d.code.0, d.is_error())).collect();
        found
    };
    /// A task that surely runs the kernel.
    const RUNS: &str = "PTO_EMIT_DESCRIPTOR(D{ .tier = 0, .first = f });";
    let no: [(u16, bool); 0] = [];
    // What each is with the last that there is, and with the first that there is not.
    for (form, last, first) in [
        ("f = lens[#];", 3, 4),
        ("f = PTO_GET_INPUT_LENS(kv)[#];", 2, 3),
        ("f = PTO_GET_INPUT_META(kv, indptr)[#];", 3, 4),
        ("f = *std::max_element(lens, lens + #);", 4, 5),
        ("f = (uint32_t)std::accumulate(lens, lens + #, 0);", 4, 5),
        ("f = PTO_ALLOC_WS(#, i);", 1, 2),
        ("f = PTO_TIER_SLOT_BYTES(T, #);", 1, 2),
        ("PTO_EMIT_DESCRIPTOR(D{ .tier = #, .first = f });", 1, 2),
    ] {
        let with = |number: u32| found(&form.replace('#', &number.to_string()), "");
        assert_eq!((with(last), with(first)), (no.to_vec(), vec![(122, true)]), "{form}");
    }
    for (form, last, first) in [
        ("TLOAD(t, x, {#, 0});", 63, 64),
        ("TLOAD(t, x, {PTO_ROWS(#), f});", 63, 64),
        ("TLOAD(t, x, {PTO_ROWS(#), f}, 1);", 63, 64),
        ("TLOAD(t, kv.k, {0, 0, #, 0});", 1, 2),
        ("TLOAD(t, kv.k, {#, 0, 0, 0});", 2, 3),
        ("TLOAD(t, w, {#, 0, 0});", 128, 100),
        ("TLOAD(t, w, {f, 0, #});", 7, 8),
        ("PTO_STORE_SCALAR(y, 1.0f, {#, 0});", 63, 64),
        ("float g = PTO_LOAD_SCALAR(x, {#, f}); PTO_STORE_SCALAR(y, g, {f, f});", 63, 64),
        ("f = lens[#];", 3, 4),
    ] {
        let with = |number: u32| found(RUNS, &form.replace('#', &number.to_string()));
        assert_eq!((with(last), with(first)), (no.to_vec(), vec![(122, true)]), "{form}");
    }
    // Where a task perhaps does not come to it, it is a warning; where none does, nothing.
    for (kernel, is_error) in [
        ("if (f > 3) { f = lens[4]; }", Some(false)),
        ("f = f > 3 ? lens[4] : 0;", Some(false)),
        ("if (f > 3) return; f = lens[4];", Some(false)),
        ("for (uint32_t q = 0; q < f; ++q) { f = lens[4]; }", Some(false)),
        ("for (uint32_t q = 0; q < 4; ++q) { if (f > 3) continue; f = lens[4]; }", Some(false)),
        ("for (uint32_t q = 0; q < 4; ++q) { if (f > 3) continue; f += 1; } f = lens[4];", Some(true)),
        ("for (uint32_t q = 0; q < 4; ++q) { f = lens[4]; }", Some(true)),
        ("if (true) { f = lens[4]; }", Some(true)),
        ("while (true) { f = lens[4]; }", Some(true)),
        ("if (false) { f = lens[4]; }", None),
        ("if (true) return; f = lens[4];", None),
        ("for (uint32_t q = 5; q < 4; ++q) { f = lens[4]; }", None),
        ("TLOAD(t, x, {PTO_ROWS(64), 0}, 0);", None),
        ("TLOAD(t, x, {PTO_ROWS(64), 0}, f);", Some(false)),
        ("TLOAD(t, x, {0, 0}); TSTORE(y, t, {PTO_ROWS(64), 0});", Some(false)),
    ] {
        let expected: Vec<(u16, bool)> = is_error.map(|is_error| (122, is_error)).into_iter().collect();
        assert_eq!(found(RUNS, kernel), expected, "{kernel}");
    }
    // Of two spaces the entry launches the other.
    let unlaunched = "PTO_SHAPE(x, 4) PTO_SHAPE(y, n) PTO_SPACE(S) { PTO_AXIS(i, 0, n) } PTO_SPACE(O) { PTO_AXIS(q, 0, n) }
        struct D { uint32_t i; }; struct E { uint32_t i; };
        PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(i) { PTO_EMIT_DESCRIPTOR(D{ .i = i }); } }
        PTO_DESCRIPTOR_GEN(O) { PTO_SCHEDULED_FOR(i) { PTO_EMIT_DESCRIPTOR(E{ .i = i }); } }
        PTO_KERNEL_IMPL(k) { auto d = PTO_GET_DESCRIPTOR<D>(); PTO_STORE_SCALAR(y, x[3] * 1.0f, {d.i}); }
        PTO_KERNEL_IMPL(o) { auto d = PTO_GET_DESCRIPTOR<E>(); PTO_STORE_SCALAR(y, x[9] * 1.0f, {d.i}); }
        void go(uint32_t* x, Tensor<float> y) { PTO_LAUNCH(S, { .x = x, .y = y }); }";
    let (module, all) = wsp_lang::compile("a.pto", unlaunched, &mut wsp_diag::SourceMap::default());
    assert!(module.is_some() && all.iter().any(|found| found.code.0 == 122), "{all:?}");
    // Which tier runs follows from values of a launch: perhaps never this one.
    assert_eq!(found("", "f = lens[4];"), [(122, false)]);
}
