//! Licences of dependencies.

use serde_json::Value;

/// Licences that a dependency may be used under.
const ALLOWED: [&str; 8] =
    ["MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Zlib", "ISC", "Unicode-3.0"];

/// Dependencies that cannot be used under a licence of the list.
pub(super) fn check(packages: &[Value]) -> Vec<String> {
    packages
        .iter()
        .filter(|package| !package["source"].is_null())
        .filter_map(|package| {
            let (name, licence) = (package["name"].as_str()?, package["license"].as_str());
            match licence {
                Some(licence) if allows(licence) => None,
                Some(licence) => Some(format!("{name}: its licence `{licence}` is not in the allow list")),
                None => Some(format!("{name}: states no licence")),
            }
        })
        .collect()
}

/// Whether an SPDX expression can be met with the list. `/` is an old form of `OR`; `AND` binds closer than `OR`.
fn allows(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    either(&mut rest) == Some(true) && rest.is_empty()
}

/// Terms joined by `OR`; `None` when the expression is malformed.
fn either(rest: &mut &[&str]) -> Option<bool> {
    let mut value = both(rest)?;
    while take(rest, "OR") {
        value |= both(rest)?;
    }
    Some(value)
}

fn both(rest: &mut &[&str]) -> Option<bool> {
    let mut value = term(rest)?;
    while take(rest, "AND") {
        value &= term(rest)?;
    }
    Some(value)
}

/// A licence, alone or with an exception; or an expression in brackets.
fn term(rest: &mut &[&str]) -> Option<bool> {
    if take(rest, "(") {
        let value = either(rest)?;
        return take(rest, ")").then_some(value);
    }
    let (name, tail) = rest.split_first()?;
    *rest = tail;
    if take(rest, "WITH") {
        let (exception, tail) = rest.split_first()?;
        *rest = tail;
        // An exception only permits more; of this one that is known.
        return Some(*exception == "LLVM-exception" && ALLOWED.contains(name));
    }
    Some(ALLOWED.contains(name))
}

fn take(rest: &mut &[&str], word: &str) -> bool {
    let found = rest.first() == Some(&word);
    if found {
        *rest = &rest[1..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn expressions_are_met_or_not() {
        for met in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "Unlicense OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
            "GPL-2.0 WITH x OR Apache-2.0 OR MIT",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
        ] {
            assert!(allows(met), "{met}");
        }
        for not_met in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT",
            "MIT)",
            "",
            "OR",
            "MIT OR",
            "Apache-2.0 WITH x",
            "GPL-3.0 WITH LLVM-exception",
            "MIT BSD-3-Clause",
        ] {
            assert!(!allows(not_met), "{not_met}");
        }
    }

    #[test]
    fn a_dependency_with_another_licence_is_named() {
        let packages = [
            json!({ "name": "good", "source": "registry", "license": "MIT" }),
            json!({ "name": "ours", "source": null, "license": null }),
            json!({ "name": "copyleft", "source": "registry", "license": "GPL-3.0" }),
            json!({ "name": "silent", "source": "registry", "license": null }),
        ];
        let faults =
            ["copyleft: its licence `GPL-3.0` is not in the allow list", "silent: states no licence"];
        assert_eq!(check(&packages), faults);
    }
}
