//! Emitted graphs: they do what the machine does here, with the fences that their edges need.

#[path = "../../wsp-isa/tests/choices/mod.rs"]
mod choices;
mod graph_support;
#[path = "../../wsp-isa/tests/random_units/mod.rs"]
mod random_units;

use std::collections::{BTreeMap, BTreeSet};

use graph_support::{Compiled, Planned, direct};
use random_units::{Choices, Limits, bytes, valid_unit};
use wsp_ascend::graph::{GraphEmitError, GraphSource};
use wsp_core::tg::Platform;

/// A producer and a consumer, with statements between and behind them.
fn pair(between: &str, edge: &str) -> Planned {
    Planned::text(&format!(
        "extern T: f32[64]\nTG_BEGIN(G)\nTG_KERNEL(A, a, 2, AIV, 0)\nMC_BIND(A, 0, T, direction = OUT)\n{between}\n\
         TG_KERNEL(B, b, 2, AIV, 0)\nMC_BIND(B, 0, T, direction = IN)\n{edge}\nTG_END(G)\n"
    ))
}

/// The emitted fence before kernel `B`, and the reasons that it gives.
fn fence_of_b(source: &GraphSource) -> Option<(String, String)> {
    let mut lines = source.translation_unit.lines();
    let case = lines.find(|line| line.contains("// B: "))?;
    let reasons = case.split("// B: ").nth(1)?.to_owned();
    let fence = lines.next()?.trim().trim_start_matches("device.fence(FenceScope::").trim_end_matches(");");
    Some((fence.to_owned(), reasons))
}

/// ISA-EM-04: an edge for data implies a fence for the device. ISA-EM-05: `AFTER` implies none; a fence between its ends is
/// emitted there, and A2 has one for global memory instead of that for the L2 cache.
#[test]
fn edges_have_the_fences_that_they_imply() {
    let fence = |between: &str, edge: &str, target| {
        let source = pair(between, edge).emit(target).expect("C++");
        (fence_of_b(&source).map(|(scope, reasons)| format!("{scope}: {reasons}")), source.notes.len())
    };
    let some = |text: &str| Some(text.to_owned());
    let data = "TG_DEPEND(A, B, DATA, T)";
    let after = "TG_DEPEND(A, B)";
    for target in [Platform::A2, Platform::A3, Platform::A5] {
        assert_eq!(fence("", data, target), (some("Device: data"), 0));
        assert_eq!(fence("", "TG_DEPEND(A, B, DATA)", target), (some("Device: data"), 0));
        assert_eq!(fence("", after, target), (None, 0));
        assert_eq!(fence("", "", target), (None, 0));
        assert_eq!(fence("", "TG_DEPEND(A, B, SOFT)", target), (None, 0));
        assert_eq!(fence("MC_FENCE(DEVICE)", after, target), (some("Device: MC_FENCE"), 0));
        assert_eq!(fence("MC_FENCE(GM)", after, target), (some("Gm: MC_FENCE"), 0));
        assert_eq!(fence("MC_FENCE(DEVICE)", "", target), (None, 0), "a fence orders nothing");
        assert_eq!(fence("", &format!("{after}\nMC_FENCE(GM)"), target), (None, 0), "it stands behind both");
        assert_eq!(fence("MC_FENCE(GM)", data, target), (some("Gm: MC_FENCE, data"), 0));
        assert_eq!(fence("", "TG_DEPEND(A, B, BARRIER)", target), (some("Device: barrier"), 0));
    }
    assert_eq!(fence("MC_FENCE(L2)", after, Platform::A3), (some("L2: MC_FENCE"), 0));
    assert_eq!(fence("MC_FENCE(L2)", after, Platform::A2), (some("Gm: MC_FENCE"), 1));
}

/// Of each kernel, whatever the rounds of unrolled loops around it, the fences before it: the strongest scope, and all reasons.
fn fences_by_kernel(unit: &Planned, target: Platform) -> BTreeMap<String, BTreeSet<String>> {
    let source = unit.emit(target).expect("C++");
    let mut lines = source.translation_unit.lines();
    let mut fences: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    while let Some(line) = lines.next() {
        let Some((_, what)) = line.split_once(":  // ").filter(|_| line.trim().starts_with("case")) else {
            continue;
        };
        let (name, reasons) = what.split_once(": ").expect("a name and reasons");
        let fence = lines.next().expect("a fence").trim().trim_start_matches("device.fence(FenceScope::");
        let name = name.split('[').next().unwrap_or_default().to_owned();
        let place = fences.entry(name).or_default();
        place.insert(format!("scope {}", fence.trim_end_matches(");")));
        place.extend(reasons.split(", ").map(str::to_owned));
    }
    // A first round may need less than the others.
    for (stronger, weaker) in [("Gm", &["L2", "Device"][..]), ("L2", &["Device"])] {
        for found in fences.values_mut().filter(|found| found.contains(&format!("scope {stronger}"))) {
            found.retain(|what| !weaker.iter().any(|scope| *what == format!("scope {scope}")));
        }
    }
    fences
}

/// Kernels `A`, `B`, … with their bindings: `A=T` writes T, `B<T` reads it, `C!T` does both, with an offset in bytes: `C!T@i * 4`.
fn kernels(list: &[&str]) -> String {
    let mut text = String::new();
    for item in list {
        let (name, direction) = (
            &item[..1],
            match &item[1..2] {
                "=" => "OUT",
                "<" => "IN",
                _ => "INOUT",
            },
        );
        let (tensor, range) = match item[2..].split_once('@') {
            Some((tensor, offset)) => (tensor, format!(", {offset}, 4")),
            None => (&item[2..], String::new()),
        };
        text += &format!(
            "TG_KERNEL({name}, {}, 2, AIV, 0)\nMC_BIND({name}, 0, {tensor}{range}, direction = {direction})\n",
            name.to_lowercase()
        );
    }
    text
}

/// Graphs with loops of `COUNT` rounds, in which data pass the borders of loops and from round to round in every way.
fn shapes() -> Vec<String> {
    let k = |list: &[&str]| kernels(list);
    let round = |body: &str| format!("CF_LOOP(COUNT, i)\n{body}CF_ENDLOOP\n");
    let other = |body: &str| format!("CF_LOOP(COUNT, j)\n{body}CF_ENDLOOP\n");
    let branch = |body: &str| format!("CF_IF(load(F, 0, i32) > 0)\n{body}CF_ENDIF\n");
    let a = || k(&["A=T"]);
    let mut shapes = Vec::new();
    for (edge, fence) in [
        ("DATA, T", ""),
        ("AFTER", ""),
        ("AFTER", "MC_FENCE(GM)\n"),
        ("DATA, T", "MC_FENCE(GM)\n"),
        ("AFTER", "MC_FENCE(L2)\n"),
        ("BARRIER", ""),
        ("BARRIER", "MC_FENCE(GM)\n"),
    ] {
        let depend = |a: &str, b: &str| format!("TG_DEPEND({a}, {b}, {edge})\n");
        let (ab, bc) = (depend("A", "B"), depend("B", "C"));
        // Into a loop, its second kernel, a loop in it, an arm in it.
        shapes.push(format!("{}{fence}{}", a(), round(&format!("{}{ab}", k(&["B<T"])))));
        shapes.push(format!(
            "{}{fence}{}",
            a(),
            round(&format!("{}{ab}TG_DEPEND(P, B)\n", k(&["P<Z", "B<T"])))
        ));
        shapes.push(format!("{}{fence}{}", a(), round(&other(&format!("{}{ab}", k(&["B<T"]))))));
        shapes.push(format!("{}{fence}{}", a(), round(&branch(&format!("{}{ab}", k(&["B<T"]))))));
        // Out of a loop, out of two, out of an arm in one.
        shapes.push(format!("{}{fence}{}{ab}", round(&a()), k(&["B<T"])));
        shapes.push(format!("{}{fence}{}{ab}", round(&other(&a())), k(&["B<T"])));
        shapes.push(format!("{}{fence}{}{ab}", round(&branch(&a())), k(&["B<T"])));
        // From one into another, through one, and within a round.
        shapes.push(format!("{}{fence}{}", round(&a()), other(&format!("{}{ab}", k(&["B<T"])))));
        shapes.push(format!("{}{fence}{}{}{bc}", a(), round(&format!("{}{ab}", k(&["B!T"]))), k(&["C<T"])));
        shapes.push(round(&format!("{}{fence}{}{ab}", a(), k(&["B<T"]))));
        shapes.push(round(&format!("{}{fence}{}", a(), other(&format!("{}{ab}", k(&["B<T"]))))));
    }
    // From round to round: all of a tensor, the part of each round, the part of the round before, and a fence in the round.
    for list in [
        &["S!T"][..],
        &["S=T@i * 4"],
        &["S=T@i * 4", "R<T@i * 4 + 4"],
        &["S=T@i * 4 + 4", "R<T@i * 4"],
        &["S=T", "R<Z"],
        &["S=T@i * 8", "R<T@i * 8 + 4"],
    ] {
        let order = if list.len() > 1 { "TG_DEPEND(S, R, DATA, T)\n" } else { "" };
        shapes.push(round(&format!("{}{order}", k(list))));
        shapes.push(round(&format!("{}{order}MC_FENCE(GM)\n", k(list))));
        shapes.push(round(&other(&format!("{}{order}", k(list)))));
    }
    // Copies.
    shapes.push(format!("MC_COPY(Z, T, 64)\n{}", round(&k(&["B<T"]))));
    shapes.push(format!("{}MC_COPY(T, Z, 64)\n", round(&k(&["B=T"]))));
    shapes.push(format!("MC_COPY(Z, T, 64)\nMC_FENCE(GM)\n{}", round(&k(&["B<T"]))));
    shapes.push(format!("{}MC_FENCE(GM)\nMC_COPY(T, Z, 64)\n", round(&k(&["B=T"]))));
    shapes.push(round("MC_COPY(Z, T, 64)\n"));
    shapes
}

/// ISA-EM-04, ISA-CF-07: a loop that is not unrolled has the fences that its rounds have when they are laid out one by one.
#[test]
fn loops_have_the_same_fences_whether_they_are_unrolled_or_not() {
    let unit = |shape: &str, count: &str| {
        let graph = shape.replace("COUNT", count);
        Planned::text(&format!(
            "arg N: i64 = 3\nextern T: i32[4096]\nextern Z: i32[64]\nextern F: i32[1]\nTG_BEGIN(G)\n{graph}TG_END(G)\n"
        ))
    };
    for shape in shapes() {
        for target in [Platform::A2, Platform::A3, Platform::A5] {
            let unrolled = fences_by_kernel(&unit(&shape, "3"), target);
            let long = fences_by_kernel(&unit(&shape, "1025"), target);
            assert_eq!(unrolled, long, "{target:?}\n{shape}");
            let plain = shape
                .replace("CF_LOOP(COUNT, j)", "CF_WHILE(load(F, 0, i32))")
                .replace("CF_LOOP(COUNT, i)", "CF_LOOP(N, i)");
            let given = if plain.contains("CF_WHILE") {
                let mut text = plain;
                let at = text.find("CF_WHILE").expect("it is there");
                let end = at + text[at..].find("CF_ENDLOOP").expect("a loop has an end");
                text.replace_range(end..end + "CF_ENDLOOP".len(), "CF_ENDWHILE");
                fences_by_kernel(&unit(&text, "3"), target)
            } else {
                fences_by_kernel(&unit(&shape, "N"), target)
            };
            for (kernel, reasons) in &unrolled {
                // A loop that may have no round passes on what it would have made visible, so more is no mistake.
                let found = given.get(kernel).cloned().unwrap_or_default();
                let missing: Vec<_> =
                    reasons.difference(&found).filter(|reason| !reason.starts_with("scope")).collect();
                assert!(missing.is_empty(), "{kernel} lacks {missing:?}, {target:?}\n{shape}");
            }
        }
    }
}

/// ISA-PM-09: what a target does not have is refused by name.
#[test]
fn what_the_target_does_not_have_is_refused() {
    let unit = pair("SY_NOTIFY(1, 7)", "");
    for target in [Platform::A2, Platform::A3] {
        let error = unit.emit(target).expect_err("it has no notifications");
        assert!(matches!(error, GraphEmitError::Unsupported { mnemonic: "SY_NOTIFY", .. }), "{error}");
    }
    assert!(unit.emit(Platform::A5).is_ok());
    assert_eq!(unit.emit(Platform::Cpu).expect_err("no device"), GraphEmitError::NoDevice);
}

/// Fences follow from flows: a plan without them is not emitted with too few.
#[test]
fn a_plan_without_flows_is_refused() {
    let mut unit = pair("", "");
    unit.plan.graphs[0].flows = None;
    assert_eq!(unit.emit(Platform::A2).expect_err("no flows"), GraphEmitError::NoFlows);
}

/// ISA-EM-04, ISA-EM-05, ISA-IMP-09: compiled, the fence comes between the two kernels.
#[test]
fn compiled_fences_stand_between_producer_and_consumer() {
    let units = [
        pair("", "TG_DEPEND(A, B, DATA, T)"),
        pair("", "TG_DEPEND(A, B)"),
        pair("MC_FENCE(L2)", "TG_DEPEND(A, B)"),
    ];
    let sources: Vec<GraphSource> = units.iter().map(|unit| unit.emit(Platform::A2).expect("C++")).collect();
    let compiled = Compiled::new("fences", &sources);
    let seen = |unit: usize| -> Vec<String> {
        let first = |line: &String| line.split(" entry").next().unwrap_or_default().to_owned();
        compiled.run(unit, 0).iter().map(first).collect()
    };
    assert_eq!(seen(0), ["launch A", "fence 0", "launch B", "outcome 0"]);
    assert_eq!(seen(1), ["launch A", "launch B", "outcome 0"]);
    assert_eq!(seen(2), ["launch A", "fence 2", "launch B", "outcome 0"]);
}

/// Control flow, gangs, tables, events, copies, in one unit.
const EVERYTHING: &str = "
extern X: f32[64]
extern Y: f32[64]
arg n: i64 = 2
extern event GO
TG_BEGIN(G)
  TG_KERNEL(A, a, 4, AIC_AIV, 4096)
  MC_BIND(A, 0, X, direction = IN)
  MC_BIND(A, 1, Y, iteration * 16, 16, OUT)
  SY_WAIT(GO, A)
  CF_LOOP(n + 1, i)
    TG_KERNEL(B, b, 2, AIC, 0)
    MC_BIND(B, 0, {X, Y}[i % 2], i * 8, 8, INOUT)
    CF_BREAK(i > 1 && n < 0 || i != 0 && 6 / i == 1000)
    TG_KERNEL(C, c, 1, AIV, 0)
    TG_DEPEND(B, C, DATA)
  CF_ENDLOOP
  CF_WHILE(load(X, 0, i32) > 4, 100)
    TG_KERNEL(W, w, 1, AIV, 0)
    MC_BIND(W, 0, X, direction = INOUT)
  CF_ENDWHILE
  MC_COPY(X, Y, 64, 0, 64)
  CF_IF(load(Y, 8, i64) % 2 == 0)
    TG_KERNEL(T, t, 1, AICPU, 0)
    MC_BIND(T, 0, Y, direction = IN)
  CF_ELSE
    TG_KERNEL(F, f, 1, AICPU, 0)
    MC_BIND(F, 0, Y, direction = IN)
  CF_ENDIF
  TG_KERNEL(P, p, 1, AIV, 0)
  TG_KERNEL(Q, q, 1, AIV, 0)
  SY_BARRIER({P, Q}, 0)
  TG_DEPEND(A, Q)
TG_END(G)
";

/// ISA-IMP-09, ISA-IMP-11: the machine that is linked into a C++ program does what it does here.
#[test]
fn compiled_graphs_do_what_the_machine_does() {
    let mut units = vec![Planned::text(EVERYTHING)];
    for seed in 0..60 {
        let unit = valid_unit(&mut Choices::new(&bytes(seed, 700)), &Limits::run());
        let unit = Planned::new(unit);
        if !unit.plan.graphs.is_empty() && unit.emit(Platform::A5).is_ok() && units.len() < 16 {
            units.push(unit);
        }
    }
    assert!(units.len() >= 8, "{} units", units.len());
    let sources: Vec<GraphSource> = units.iter().map(|unit| unit.emit(Platform::A5).expect("C++")).collect();
    let compiled = Compiled::new("random", &sources);
    let mut compared = 0;
    for (at, unit) in units.iter().enumerate() {
        let Some(expected) = direct(&unit.plan.graphs[0]) else { continue };
        let mut found = compiled.run(at, 0);
        found.retain(|line| !line.starts_with("fence"));
        assert_eq!(found, expected, "unit {at}:\n{}", wsp_isa::tg::text::print(&unit.module));
        compared += 1;
        // Whatever is over first, the same is started.
        let sorted = |mut lines: Vec<String>| {
            lines.sort();
            lines
        };
        if !expected.contains(&"outcome 2".to_owned()) && unit.plan.graphs[0].conditions.is_empty() {
            for policy in [1, 2] {
                let mut other = compiled.run(at, policy);
                other.retain(|line| !line.starts_with("fence"));
                assert_eq!(sorted(other), sorted(expected.clone()), "unit {at}, policy {policy}");
            }
        }
    }
    assert!(compared >= 8, "{compared} units are compared");
}
