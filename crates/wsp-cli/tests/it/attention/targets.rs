//! Which program computes which case.

use crate::decode_cases::{Case, Extras};
use crate::decode_cases::{is_latent, names};
use wsp_check::generate::{Names, QueryRows};
use wsp_plan::ParamValue;

/// Programs by what a case adds to plain attention.
#[derive(Clone, Copy)]
pub(super) struct Target {
    /// Its name in errors and in the report.
    pub(super) feature: &'static str,
    /// The program.
    pub(super) file: &'static str,
    /// Whether it computes a case.
    pub(super) takes: fn(&Case) -> bool,
    /// The names it has its data under.
    pub(super) names: fn(&Case) -> Names,
    /// What is set for a case, beside `sm_scale`.
    pub(super) set: fn(&Case) -> Vec<(&'static str, ParamValue)>,
    /// Schedules to run under; none for the one that the program applies.
    pub(super) schedules: &'static [&'static str],
}

/// The schedules of `split.pto`.
const SPLITS: &[&str] = &["Balanced", "Fixed", "Whole"];

pub(super) const TARGETS: &[Target] = &[
    Target {
        feature: "one file",
        file: "examples/decode_attention.pto",
        takes: is_plain,
        names: |case| Names { lens: Some("kv_lens".to_owned()), ..names(case) },
        set: |case| vec![("chunk", ParamValue::Int(i128::from(case.problem.seed % 3 * 48)))],
        schedules: &[],
    },
    Target { feature: "plain", file: "examples/attention/decode.pto", takes: is_plain, ..PLAIN },
    Target {
        feature: "soft cap",
        file: "examples/attention/soft_cap.pto",
        takes: |case| case.extras.soft_cap > 0.0 && only(case, &[Feature::SoftCap, Feature::Window]),
        set: |case| {
            vec![("soft_cap", ParamValue::Float(case.extras.soft_cap)), ("window_left", window(case))]
        },
        ..PLAIN
    },
    Target {
        feature: "window",
        file: "examples/attention/sliding_window.pto",
        takes: |case| {
            only(case, &[Feature::Window]) && (case.extras.window_left >= 0 || case.problem.seed % 4 == 0)
        },
        set: |case| vec![("window_left", window(case))],
        ..PLAIN
    },
    Target {
        feature: "ALiBi",
        file: "examples/attention/alibi.pto",
        takes: |case| case.extras.alibi && only(case, &[Feature::Alibi]),
        ..PLAIN
    },
    Target {
        feature: "RoPE",
        file: "examples/attention/rope.pto",
        takes: |case| case.extras.rope_theta > 0.0 && only(case, &[Feature::Rope]),
        set: |case| vec![("rope_theta", ParamValue::Float(case.extras.rope_theta))],
        ..PLAIN
    },
    Target {
        feature: "RoPE and sinks",
        file: "examples/attention/gpt_oss.pto",
        takes: |case| {
            let Extras { rope_theta, sinks, .. } = case.extras;
            rope_theta > 0.0 && sinks && only(case, &[Feature::Rope, Feature::Sinks, Feature::Window])
        },
        set: rope_and_window,
        ..PLAIN
    },
    Target {
        feature: "RoPE, queries",
        file: "examples/attention/rope_speculative.pto",
        takes: |case| {
            case.extras.rope_theta > 0.0
                && matches!(case.problem.rows, QueryRows::Each(rows) if rows > 1 || case.problem.seed % 2 == 0)
                && only(case, &[Feature::Rope, Feature::Rows, Feature::Window])
        },
        set: rope_and_window,
        ..PLAIN
    },
    Target {
        feature: "rest of prompts",
        file: "examples/attention/extend.pto",
        takes: |case| matches!(case.problem.rows, QueryRows::Packed(_)) && only(case, &[Feature::Rows]),
        names: |case| Names { q_indptr: Some("q_indptr".to_owned()), ..names(case) },
        schedules: &[],
        ..PLAIN
    },
    Target {
        feature: "sinks",
        file: "examples/attention/sinks.pto",
        takes: |case| case.extras.sinks && only(case, &[Feature::Sinks]),
        ..PLAIN
    },
    Target {
        feature: "8-bit cache",
        file: "examples/attention/fp8.pto",
        takes: |case| only(case, &[Feature::Scales]) && case.problem.kv_dtype.size() == 1,
        set: |case| {
            let Extras { k_scale, v_scale, .. } = case.extras;
            vec![("k_scale", ParamValue::Float(k_scale)), ("v_scale", ParamValue::Float(v_scale))]
        },
        ..PLAIN
    },
    Target {
        feature: "several queries",
        file: "examples/attention/speculative.pto",
        takes: |case| {
            matches!(case.problem.rows, QueryRows::Each(rows) if rows > 1 || case.problem.seed % 5 == 0)
                && only(case, &[Feature::Rows, Feature::Window])
        },
        set: |case| vec![("window_left", window(case))],
        ..PLAIN
    },
    Target {
        feature: "shared prefix",
        file: "examples/attention/shared_prefix.pto",
        takes: |case| case.problem.prefix_pages > 0,
        ..PLAIN
    },
    Target {
        feature: "cascade",
        file: "examples/attention/cascade.pto",
        takes: |case| {
            let shared = case.problem.prefix_pages * case.problem.page_size;
            shared > 0 && case.problem.lens.iter().all(|&n| n >= shared)
        },
        names: |case| Names { prefix: Some("prefix".to_owned()), ..names(case) },
        schedules: &[],
        ..PLAIN
    },
    Target { feature: "latent", file: "examples/attention/mla.pto", takes: is_latent, ..PLAIN },
    Target {
        feature: "mixed",
        file: "testdata/programs/attention_mixed.pto",
        takes: |case| {
            let extras = case.extras;
            (extras.alibi || extras.sinks || case.problem.seed % 6 == 0)
                && only(case, &[Feature::Alibi, Feature::Sinks, Feature::Window])
        },
        names: |case| {
            let named = |name: &str| Some(name.to_owned());
            Names { slopes: named("alibi_slopes"), sinks: named("sinks"), ..names(case) }
        },
        set: |case| vec![("window_left", window(case))],
        schedules: SPLITS,
    },
];

/// A target that shares what most have.
const PLAIN: Target =
    Target { feature: "", file: "", takes: is_plain, names, set: |_| Vec::new(), schedules: SPLITS };

#[derive(Clone, Copy, PartialEq, Eq)]
enum Feature {
    SoftCap,
    Window,
    Alibi,
    Rope,
    Sinks,
    Scales,
    Rows,
    Latent,
}

/// What a case has beyond plain attention.
fn features(case: &Case) -> Vec<Feature> {
    let extras = case.extras;
    [
        (Feature::SoftCap, extras.soft_cap > 0.0),
        (Feature::Window, extras.window_left >= 0),
        (Feature::Alibi, extras.alibi),
        (Feature::Rope, extras.rope_theta > 0.0),
        (Feature::Sinks, extras.sinks),
        (Feature::Scales, extras.k_scale != 1.0 || extras.v_scale != 1.0),
        (Feature::Rows, case.problem.rows != QueryRows::Each(1)),
        (Feature::Latent, is_latent(case)),
    ]
    .into_iter()
    .filter_map(|(feature, has)| has.then_some(feature))
    .collect()
}

fn only(case: &Case, allowed: &[Feature]) -> bool {
    features(case).iter().all(|feature| allowed.contains(feature))
}

fn is_plain(case: &Case) -> bool {
    features(case).is_empty()
}

fn rope_and_window(case: &Case) -> Vec<(&'static str, ParamValue)> {
    vec![("rope_theta", ParamValue::Float(case.extras.rope_theta)), ("window_left", window(case))]
}

fn window(case: &Case) -> ParamValue {
    ParamValue::Int(i128::from(case.extras.window_left))
}
