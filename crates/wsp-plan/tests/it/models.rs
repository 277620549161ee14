//! Machine models: those of the crate, what is refused, and texts with random changes.

use crate::randomised;
use wsp_core::ExecPool;
use wsp_diag::{Code, SourceMap};
use wsp_ir::TileRole;
use wsp_plan::target::model::{Mark, Model, NAMES, Rate, Rates, named, text};
use wsp_plan::{DeviceModel, Target};

/// The first fault of a text: its code, line and column, and message.
fn fault(text: &str) -> (Code, (u32, u32), String) {
    let mut sources = SourceMap::default();
    let file = sources.add("m.toml", text);
    let found = Model::read(text, file).expect_err("it is refused");
    for one in &found {
        assert!(one.is_error(), "{one:?}");
        assert!(one.primary.is_some() || one.message.contains("bytes"), "{one:?}");
    }
    let place = found[0].primary.as_ref().map_or((0, 0), |label| sources.line_col(label.span));
    (found[0].code, place, found[0].message.clone())
}

/// The model of 910B with a change.
fn changed(from: &str, to: &str) -> String {
    let text = text("ascend_910b").expect("it is there");
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

fn refused(from: &str, to: &str, code: u16, message: &str) {
    let text = changed(from, to);
    let (found, (line, column), said) = fault(&text);
    assert_eq!((found, said.as_str()), (Code(code), message), "`{to}`");
    let place = text.split('\n').nth(line as usize - 1).and_then(|of| of.chars().nth(column as usize - 1));
    assert!(place.is_some() || code == 1742 || code == 1740, "`{to}` at {line}:{column}");
}

#[test]
fn models_of_the_crate_are_read_and_every_figure_has_a_source() {
    for name in NAMES {
        let model = named(name).expect("it is there");
        assert_eq!(model.name, name);
        let written = text(name).expect("it is there").matches("source = ").count();
        assert_eq!(model.figures.len(), written, "{name}");
        for figure in &model.figures {
            assert!(figure.value.is_finite() && !figure.source.is_empty(), "{figure:?}");
        }
        assert!(model.global().is_some() && model.home(TileRole::Vec).is_some(), "{name}");
    }
}

#[test]
fn a_910b_numbers_24_cube_cores_before_48_vector_cores() {
    let model = named("ascend_910b").expect("it is there");
    let cores: Vec<(u32, ExecPool)> = model.cores().collect();
    assert_eq!(cores.len(), 72);
    for (at, (number, kind)) in cores.iter().enumerate() {
        let is = if at < 24 { ExecPool::Cube } else { ExecPool::Vector };
        assert_eq!((*number, *kind), (at as u32, is));
    }
    let device = DeviceModel::from(model);
    assert_eq!(device, DeviceModel { aic: 24, aiv: 48, aicpu: 4, aiv_per_aic: 2, l2_domains: 2 });
    let device = Target::named("ascend_950").expect("it is there").device();
    assert_eq!(device, DeviceModel { aic: 36, aiv: 72, aicpu: 5, aiv_per_aic: 2, l2_domains: 2 });
}

#[test]
fn rates_are_flat_or_fitted() {
    assert_eq!(Rate::Flat(100.0).seconds(50.0), 0.5);
    // 90 bytes of 100 · 90 / (10 + 90) a second.
    assert_eq!(Rate::Fitted { peak: 100.0, half: 10.0 }.seconds(90.0), 1.0);
    assert_eq!(Rate::Fitted { peak: 100.0, half: 10.0 }.seconds(0.0), 0.0);
    let model = named("ascend_910b").expect("it is there");
    let way = model.route(model.global().expect("hbm"), model.home(TileRole::Left).expect("l0a"));
    let way = way.expect("there is a way");
    let names: Vec<&str> = way.iter().map(|path| model.memories[path.to].name.as_str()).collect();
    assert_eq!(names, ["l1", "l0a"]);
    assert!(matches!(way[0].rate(Rates::Fitted), Rate::Fitted { .. }));
    assert!(matches!(way[0].rate(Rates::Flat), Rate::Flat(_)));
    // It has one rate.
    assert_eq!(way[1].rate(Rates::Fitted), way[1].rate(Rates::Flat));
    let accumulators = model.home(TileRole::Acc).expect("l0c");
    let way = model.route(accumulators, model.home(TileRole::Vec).expect("ub")).expect("there is a way");
    assert_eq!(way.len(), 2, "through global memory");
}

#[test]
fn figures_out_of_range_are_refused_where_they_stand() {
    let clock = "value = 1.85e+09";
    for (value, message) in [
        ("-1", "`rate` is -1"),
        ("0", "`rate` is 0"),
        ("nan", "`rate` is NaN"),
        ("inf", "`rate` is inf"),
        ("1e999", "`rate` is inf"),
    ] {
        refused(clock, &format!("value = {value}"), 1743, message);
    }
    refused("value = 24,", "value = 24.5,", 1743, "`count` is 24.5");
    refused("value = 24,", "value = 65536,", 1743, "`count` is 65536");
    refused("value = 24,", "value = 0,", 1743, "`count` is 0");
    refused(clock, "value = \"1\"", 1743, "the value of `rate` is no number");
    refused("unit = \"Hz\"", "unit = \"GHz\"", 1743, "`rate` is in `Hz`");
    refused("mark = \"stated\"", "mark = \"sure\"", 1743, "the mark of `rate` is none");
    refused(
        "source = \"pto-isa, arch_config.hpp\"",
        "source = \" \"",
        1743,
        "the source of `rate` says nothing",
    );
}

#[test]
fn what_is_missing_unknown_or_twice_there_is_refused() {
    refused(", source = \"pto-isa, arch_config.hpp\"", "", 1742, "figure `rate` without `source`");
    refused(", mark = \"stated\"", "", 1742, "figure `rate` without `mark`");
    refused("unit = \"Hz\", ", "", 1742, "figure `rate` without `unit`");
    refused("title = ", "titel = ", 1742, "`model` is not complete");
    refused("[clock]", "[clok]", 1741, "a machine model has no table `clok`");
    refused("[clock]", "[[clock]]", 1741, "`[[clock]]` for a table `[clock]`");
    refused("rates = \"flat\"", "rates = \"falt\"", 1743, "`rates` cannot be `falt`");
    refused("rates = \"flat\"\n", "", 1742, "`path hbm ub` is not complete");
    refused("rates = \"flat\"", "colour = \"red\"\nrates = \"flat\"", 1741, "`model` has no `colour`");
    refused("unit = \"Hz\"", "units = \"Hz\", unit = \"Hz\"", 1741, "a figure has no `units`");
    refused("kind = \"vector\"", "kind = \"cube\"\nkind = \"cube\"", 1740, "`kind` is given twice");
    refused("value = 1.85e+09", "value = 1, value = 1", 1740, "`value` is given twice");
    refused("[launch]", "[clock]", 1740, "table `clock` stands here twice");
    refused(
        "value = 24, unit = \"count\", mark = \"assumed\"",
        "value = 23, unit = \"count\", mark = \"assumed\"",
        1744,
        "two units have the number 23",
    );
    refused("name = \"l0a\"", "name = \"l0x\"", 1743, "`to` cannot be `l0a`");
    refused("name = \"l0a\"", "name = \"l0b\"", 1744, "two memories are called `l0b`");
    refused("name = \"l0a\"", "name = \"l 0\"", 1743, "`name` is one word");
    refused("class = \"quotients\"", "class = \"functions\"", 1744, "`functions` is costed twice");
    refused("class = \"quotients\"", "class = \"transfer\"", 1743, "`class` cannot be `transfer`");
    refused(
        "from = \"hbm\"\nto = \"ub\"",
        "from = \"hbm\"\nto = \"hbm\"",
        1744,
        "a path ends where it begins",
    );
    refused("holds = \"left\"", "holds = \"left vec\"", 1744, "two memories hold tiles `vec`");
    assert_eq!(fault("[unit]\n").2, "`[unit]` for a table `[[unit]]`");
    let (code, _, message) = fault("");
    assert_eq!((code, message.as_str()), (Code(1742), "a machine model without a name"));
}

#[test]
fn what_is_no_toml_is_refused_where_it_stands() {
    for (to, message) in [
        ("value = 01", "`01` is no number"),
        ("value = 1.", "`1.` is no number"),
        ("value = .5", "`.5` is no number"),
        ("value = 0x10", "`0x10` is no number"),
        ("value = 1__0", "`1__0` is no number"),
        ("value = - 1", "`- 1` is no number"),
        ("value = 9223372036854775808", "`9223372036854775808` is no number"),
        ("value = true", "`true` is no number"),
        ("value = [1]", "expected a string, a number or `{ value = …, … }`"),
        ("value = {}", "expected a string, a number or `{ value = …, … }`"),
        ("value =\n1", "expected a value"),
        ("value = 1,", "expected a key"),
        ("value = \"\\u0041\"", "an escape that strings of models do not have"),
        ("value = \"a", "expected `,` or `}`"),
        ("a.b = 1", "expected `=`"),
        ("'value' = 1", "expected a key"),
    ] {
        refused("value = 1.85e+09", to, 1740, message);
    }
    refused("[clock]", "[clock", 1740, "expected `]`");
    refused("[clock]", "[\nclock]", 1740, "expected the name of a table");
    refused("[[unit]]", "[[unit] ]", 1740, "expected `]]`");
    refused("[clock]", "[clock] x", 1740, "expected the end of the line");
    refused("[clock]", "[a.b]", 1740, "expected `]`");
    assert_eq!(fault("a = 1\n").2, "`a` stands in no table");
    assert_eq!(fault("\u{feff}[model]\n").2, "a byte order mark in a machine model");
    assert_eq!(
        fault("[model] # \u{1}\n"),
        (Code(1740), (1, 11), "a control character in a machine model".into())
    );
    assert_eq!(fault("[model]\rname = 1\n").1, (1, 8));
    assert_eq!(fault(&"#\n".repeat(1 << 20)).2, "a machine model of 2097152 bytes");
    // As many faults as fit on a screen.
    assert_eq!(Model::read(&"=\n".repeat(1 << 18), wsp_diag::FileId(0)).expect_err("no TOML").len(), 20);
}

#[test]
fn names_that_were_probably_meant_are_suggested() {
    let fault = named("ascend_910d").expect_err("there is none");
    assert_eq!((fault.code, fault.help[0].as_str()), (Code(1745), "did you mean `ascend_910b`?"));
    let text = changed("[clock]", "[clok]");
    let found = Model::read(&text, wsp_diag::FileId(0)).expect_err("it is refused");
    assert_eq!(found[0].help, ["did you mean `clock`?"]);
}

#[test]
fn lines_may_end_as_on_windows_and_marks_are_three() {
    let text = text("cpu").expect("it is there").replace('\n', "\r\n");
    assert_eq!(Model::read(&text, wsp_diag::FileId(0)).as_ref(), Ok(named("cpu").expect("it is there")));
    assert_eq!(Mark::ALL.map(Mark::word), ["measured", "stated", "assumed"]);
}

/// Texts with a few random changes: pieces are replaced, removed, doubled and moved, and bytes of TOML put in.
#[test]
fn models_with_random_changes_are_read_or_refused() {
    const PIECES: &[&str] = &[
        "",
        "\"",
        "{",
        "}",
        "[",
        "]",
        "=",
        ",",
        "\n",
        "#",
        "-",
        "e",
        "1e308",
        "nan",
        "inf",
        "0",
        "\\",
        "\r",
        "ü",
        "\u{0}",
        "value",
        "unit",
        "[[path]]\n",
        "[clock]\n",
        "rate = ",
        "{ value = 1, unit = \"B\", mark = \"stated\", source = \"s\" }",
    ];
    let texts = NAMES.map(|name| text(name).expect("it is there"));
    let mut numbers = randomised::Numbers::of_seed(21);
    let mut below = |n: usize| numbers.below(n as u64) as usize;
    let (cases, mut read) = (randomised::cases(60_000), 0);
    for _ in 0..cases {
        let whole = texts[below(4)];
        // A stretch of lines, so that many cases are short.
        let lines: Vec<&str> = whole.split_inclusive('\n').collect();
        let is_whole = below(256) == 0;
        let first = if is_whole { 0 } else { below(lines.len()) };
        let last = if is_whole { lines.len() } else { (first + 1 + below(5)).min(lines.len()) };
        let mut text = lines[first..last].concat();
        for _ in 0..=below(3) {
            let at = cut(&text, below(text.len() + 1));
            let end = cut(&text, at + below(12));
            text.replace_range(at..end.max(at), PIECES[below(PIECES.len())]);
        }
        match Model::read(&text, wsp_diag::FileId(0)) {
            Ok(model) => {
                read += 1;
                assert!(
                    model.figures.iter().all(|figure| figure.value.is_finite() && !figure.source.is_empty())
                );
            }
            Err(found) => assert!(!found.is_empty()),
        }
    }
    println!("{cases} texts, {read} read");
    assert!(read > 0 && read < cases);
}

/// The place of a character, at or before a byte.
fn cut(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[test]
fn a_model_is_written_as_it_is_read() {
    for name in NAMES {
        let model = named(name).expect("it is there");
        let written = model.to_text();
        assert_eq!(Model::read(&written, wsp_diag::FileId(0)).as_ref(), Ok(model), "{written}");
    }
    let mut model = named("cpu").expect("it is there").clone();
    assert!(!model.set_figure("clock", "speed", 1.0, Mark::Measured, "here"));
    assert!(model.set_figure("clock", "rate", 3.5e9, Mark::Measured, "a \"chain\" of\n1\\2"));
    let read = Model::read(&model.to_text(), wsp_diag::FileId(0)).expect("it is a model");
    assert_eq!((read.clock, read.figures[0].source.as_str()), (3.5e9, "a \"chain\" of1\\2"));
}
