//! Which crates have features that are on unless they are left out: programs, never libraries.

use serde_json::Value;

/// What users build: `wsp`, the extension module of the Python package, and the benchmarks of both.
const PROGRAMS: [&str; 3] = ["wsp-cli", "wsp-py", "wsp-bench"];

/// Libraries of the workspace with default features, and dependencies of the workspace's crates that turn some of another crate of it on.
/// Those of tests only are free.
pub(super) fn check(packages: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    for package in packages.iter().filter(|package| package["source"].is_null()) {
        let name = package["name"].as_str().unwrap_or_default();
        let default = package["features"]["default"].as_array().is_some_and(|features| !features.is_empty());
        if default && !PROGRAMS.contains(&name) {
            faults.push(format!("{name}: has default features; only {} may", PROGRAMS.join(", ")));
        }
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            // A program needs some always; what its users may leave out, it hands down.
            let is_free = |feature: &Value| {
                PROGRAMS.contains(&name)
                    && package["features"][feature.as_str().unwrap_or_default()].is_null()
            };
            let asks =
                dependency["features"].as_array().is_some_and(|features| !features.iter().all(is_free));
            if asks && dependency["kind"] != "dev" && !dependency["path"].is_null() {
                let used = dependency["name"].as_str().unwrap_or_default();
                faults.push(format!("{name}: turns features of {used} on; hand them down as features"));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn default_features_of_a_library_are_found() {
        let package =
            |name: &str| json!({ "name": name, "source": null, "features": { "default": ["native"] } });
        assert_eq!(check(&[package("wsp-cli"), package("wsp-py")]), [""; 0]);
        assert!(check(&[package("wsp-kernel")])[0].starts_with("wsp-kernel: has default features"));
    }

    #[test]
    fn features_that_a_library_turns_on_in_another_are_found() {
        let package = |kind: Value| {
            let used = json!({ "name": "wsp-kernel", "path": "/p", "kind": kind, "features": ["native"] });
            json!({ "name": "wsp-cpu", "source": null, "features": {}, "dependencies": [used] })
        };
        assert_eq!(check(&[package(json!("dev"))]), [""; 0]);
        assert!(check(&[package(Value::Null)])[0].starts_with("wsp-cpu: turns features of wsp-kernel on"));
    }

    #[test]
    fn a_program_turns_on_what_it_cannot_leave_out() {
        let package = |own: Value| {
            let used = json!({ "name": "wsp-kernel", "path": "/p", "kind": null, "features": ["native"] });
            json!({ "name": "wsp-py", "source": null, "features": own, "dependencies": [used] })
        };
        assert_eq!(check(&[package(json!({}))]), [""; 0]);
        let refused = check(&[package(json!({ "native": ["wsp-kernel/native"] }))]);
        assert!(refused[0].starts_with("wsp-py: turns features of wsp-kernel on"));
    }
}
