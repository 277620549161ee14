//! How many cases randomised tests run.

use proptest::prelude::ProptestConfig;

/// A test of so many cases, or of as many as the environment variable `WSP_CASES` says.
///
/// # Panics
/// When the variable is no number.
#[expect(clippy::print_stdout, reason = "the number of cases is part of what a large run says")]
#[expect(clippy::disallowed_methods, reason = "a large run is asked for by the environment")]
pub(crate) fn cases(few: u32) -> ProptestConfig {
    let asked = std::env::var("WSP_CASES").ok();
    let cases = asked.map_or(few, |n| n.parse().expect("WSP_CASES is a number"));
    println!("{cases} cases");
    ProptestConfig::with_cases(cases)
}
