//! Which crate may use which: the crates table of the architecture, as code.

use serde_json::Value;

/// Every crate of the workspace with the crates of the workspace that it may use.
///
/// Each row names only crates of rows above it, so data flows one way.
const LAYERS: &[(&str, &[&str])] = &[
    ("wsp-core", &[]),
    ("wsp-ordered", &[]),
    ("wsp-device", &["wsp-core"]),
    ("wsp-memory", &["wsp-core"]),
    ("wsp-diag", &["wsp-core"]),
    ("wsp-syntax", &["wsp-core", "wsp-diag"]),
    ("wsp-ir", &["wsp-ordered", "wsp-core", "wsp-diag", "wsp-syntax"]),
    ("wsp-lang", &["wsp-ordered", "wsp-core", "wsp-diag", "wsp-syntax", "wsp-ir"]),
    ("wsp-isa", &["wsp-ordered", "wsp-core", "wsp-diag", "wsp-syntax", "wsp-ir"]),
    ("wsp-plan", &["wsp-ordered", "wsp-core", "wsp-memory", "wsp-diag", "wsp-syntax", "wsp-ir"]),
    ("wsp-tg", &["wsp-ordered", "wsp-core", "wsp-diag", "wsp-ir", "wsp-plan"]),
    ("wsp-backend", &["wsp-core", "wsp-memory", "wsp-diag", "wsp-ir", "wsp-plan", "wsp-tg"]),
    ("wsp-trace", &["wsp-ordered", "wsp-core", "wsp-diag", "wsp-ir", "wsp-plan"]),
    ("wsp-tile", &["wsp-ordered", "wsp-core", "wsp-diag", "wsp-ir"]),
    (
        "wsp-aie",
        &[
            "wsp-ordered",
            "wsp-core",
            "wsp-memory",
            "wsp-diag",
            "wsp-syntax",
            "wsp-ir",
            "wsp-plan",
            "wsp-tile",
            "wsp-backend",
        ],
    ),
    ("wsp-simd", &["wsp-core", "wsp-ir"]),
    ("wsp-kernel", &["wsp-ordered", "wsp-core", "wsp-memory", "wsp-diag", "wsp-ir", "wsp-simd"]),
    ("wsp-runtime", &["wsp-ordered", "wsp-core"]),
    ("wsp-report", &["wsp-ordered", "wsp-core", "wsp-diag", "wsp-runtime"]),
    (
        "wsp-cpu",
        &[
            "wsp-ordered",
            "wsp-core",
            "wsp-memory",
            "wsp-diag",
            "wsp-ir",
            "wsp-plan",
            "wsp-tg",
            "wsp-backend",
            "wsp-kernel",
            "wsp-runtime",
        ],
    ),
    (
        "wsp-ascend",
        &[
            "wsp-ordered",
            "wsp-core",
            "wsp-device",
            "wsp-diag",
            "wsp-ir",
            "wsp-memory",
            "wsp-plan",
            "wsp-tg",
            "wsp-tile",
            "wsp-backend",
        ],
    ),
    (
        "pto-wsp",
        &[
            "wsp-ordered",
            "wsp-core",
            "wsp-memory",
            "wsp-diag",
            "wsp-ir",
            "wsp-lang",
            "wsp-isa",
            "wsp-plan",
            "wsp-tg",
            "wsp-trace",
            "wsp-backend",
            "wsp-tile",
            "wsp-kernel",
            "wsp-runtime",
            "wsp-report",
            "wsp-cpu",
            "wsp-aie",
            "wsp-ascend",
        ],
    ),
    (
        "wsp-py",
        &[
            "wsp-ordered",
            "wsp-core",
            "wsp-memory",
            "wsp-diag",
            "wsp-ir",
            "wsp-lang",
            "wsp-isa",
            "wsp-plan",
            "wsp-tg",
            "wsp-backend",
            "wsp-trace",
            "wsp-kernel",
            "wsp-runtime",
            "wsp-report",
            "pto-wsp",
        ],
    ),
    (
        "wsp-check",
        &[
            "wsp-ordered",
            "wsp-core",
            "wsp-diag",
            "wsp-ir",
            "wsp-plan",
            "wsp-backend",
            "wsp-kernel",
            "pto-wsp",
        ],
    ),
    (
        "wsp-cli",
        &[
            "wsp-ordered",
            "wsp-core",
            "wsp-diag",
            "wsp-ir",
            "wsp-lang",
            "wsp-isa",
            "wsp-plan",
            "wsp-tg",
            "wsp-trace",
            "wsp-backend",
            "wsp-kernel",
            "wsp-runtime",
            "wsp-report",
            "pto-wsp",
            "wsp-check",
        ],
    ),
    (
        "wsp-bench",
        &[
            "wsp-ordered",
            "wsp-core",
            "wsp-diag",
            "wsp-ir",
            "wsp-lang",
            "wsp-isa",
            "wsp-plan",
            "wsp-backend",
            "wsp-kernel",
            "wsp-runtime",
            "wsp-report",
            "wsp-aie",
            "pto-wsp",
            "wsp-check",
            "wsp-cli",
        ],
    ),
    ("xtask", &[]),
    ("peer-rayon", &[]),
];

/// Dependencies of the workspace's crates that the table does not allow. Those of tests only are free.
pub(super) fn check(packages: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    let ours: Vec<&Value> = packages.iter().filter(|p| p["source"].is_null()).collect();
    for package in &ours {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
            faults.push(format!("{name}: a crate without a row in the table of layers"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            let internal = ours.iter().any(|p| p["name"] == dependency["name"]);
            if internal && dependency["kind"] != "dev" && !allowed.contains(&used) {
                faults.push(format!("{name}: uses {used}, which the table of layers does not allow"));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Value {
        let dependencies: Vec<Value> =
            dependencies.iter().map(|(name, kind)| json!({ "name": name, "kind": kind })).collect();
        json!({ "name": name, "source": null, "dependencies": dependencies })
    }

    #[test]
    fn rows_name_rows_above_them() {
        for (i, (name, allowed)) in LAYERS.iter().enumerate() {
            for used in *allowed {
                assert!(LAYERS[..i].iter().any(|(above, _)| above == used), "{name} uses {used}");
            }
        }
    }

    #[test]
    fn a_wrong_direction_is_found() {
        let packages = [
            package("wsp-core", &[("serde", None)]),
            package("wsp-runtime", &[("wsp-core", None), ("wsp-ir", Some("dev"))]),
            package("wsp-ir", &[("wsp-runtime", None)]),
        ];
        assert_eq!(check(&packages), ["wsp-ir: uses wsp-runtime, which the table of layers does not allow"]);
    }

    #[test]
    fn a_crate_that_is_not_in_the_table_is_found() {
        assert_eq!(
            check(&[package("wsp-extra", &[])]),
            ["wsp-extra: a crate without a row in the table of layers"]
        );
    }
}
