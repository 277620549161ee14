//! The grammar of `--generate`: keys with values, joined by commas.

use super::spec::usage;
use std::str::FromStr;

/// What is wrong with a specification, and what to type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpecError(pub(super) String);

impl std::fmt::Display for SpecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

pub(super) fn error<T>(text: String) -> Result<T, SpecError> {
    Err(SpecError(text))
}

/// `KEY=VALUE` pairs as typed; what the keys mean depends on the program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pairs(Vec<(String, String)>);

impl Pairs {
    /// Keys and values in the order typed.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The pairs with these keys.
    pub(super) fn only(&self, keys: &[&str]) -> Pairs {
        Pairs(self.0.iter().filter(|(key, _)| keys.contains(&key.as_str())).cloned().collect())
    }

    /// One pair.
    pub fn of(key: &str, value: &str) -> Pairs {
        Pairs(vec![(key.to_owned(), value.to_owned())])
    }

    /// With one more pair, whose key is not there yet.
    pub fn and(mut self, key: &str, value: &str) -> Pairs {
        self.0.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.iter().any(|(k, _)| k == key)
    }
}

/// Ends of names of files that are run: no key has one.
const FILES: [&str; 4] = [".pto", ".wsp", ".tg", ".ptog"];

impl FromStr for Pairs {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Pairs, SpecError> {
        let mut pairs = Pairs::default();
        for pair in split(text) {
            let pair = pair.trim();
            if pair.is_empty() {
                return error(
                    "an empty part; write KEY=VALUE pairs joined by commas, as in `batch=16,len=4096`"
                        .to_owned(),
                );
            }
            let Some((key, value)) = pair.split_once('=') else {
                if FILES.iter().any(|end| pair.ends_with(end)) {
                    return error(format!("`{pair}` is a file: write it first, `{pair} --generate`"));
                }
                return error(format!(
                    "`{pair}` has no value: write `{pair}=VALUE`; for a paged cache, {}",
                    usage(pair)
                ));
            };
            let (key, value) = (key.trim(), value.trim());
            if pairs.has(key) {
                return error(format!("`{key}` is given twice"));
            }
            pairs.0.push((key.to_owned(), value.to_owned()));
        }
        Ok(pairs)
    }
}

/// Splits at commas that are not inside parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0usize, 0usize);
    if text.trim().is_empty() {
        return parts;
    }
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}
