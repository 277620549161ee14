//! How many cases randomised tests run.

use proptest::prelude::ProptestConfig;

/// A test of so many cases, or of as many as the environment variable `WSP_CASES` says.
#[expect(clippy::print_stdout, reason = "the number of cases is part of what a large run says")]
pub(crate) fn cases(few: u32) -> ProptestConfig {
    let cases = crate::randomised::cases(few.into());
    let cases = u32::try_from(cases).expect("a number of cases should fit");
    println!("{cases} cases");
    ProptestConfig::with_cases(cases)
}
