//! Long and deep `.pto` programs run, on the interpreter and as machine code, and store what they say.

use crate::command::{Folder, printed, run};
use wsp_cli::files::Npz;

/// A program whose tasks 0 to 3 store what a statement makes of `y`, at first the number of the task.
fn program(stmt: &str) -> String {
    format!(
        "PTO_PARAM(uint32_t, n, 4) PTO_SHAPE(out, n)
         PTO_SPACE(S) {{ PTO_AXIS(i, 0, n) }}
         struct D {{ uint32_t at; }};
         PTO_DESCRIPTOR_GEN(S) {{ PTO_SCHEDULED_FOR(i) {{ PTO_EMIT_DESCRIPTOR(D{{ .at = i }}); }} }}
         PTO_KERNEL_IMPL(k) {{
             auto d = PTO_GET_DESCRIPTOR<D>();
             uint32_t x = d.at;
             float y = (float)x;
             {stmt}
             PTO_STORE_SCALAR(out, y, {{d.at}});
         }}
         void launch(Tensor<float> out) {{ PTO_LAUNCH(S, {{ .out = out }}); }}"
    )
}

/// Runs the program on each engine, and looks for the values of the tasks in what it writes.
fn check(stmt: &str, value: impl Fn(f32) -> f32) {
    let folder = Folder::with(&[("p.pto", &program(stmt))]);
    let wanted = [0.0, 1.0, 2.0, 3.0].map(value);
    for engine in ["interpreter", "native"] {
        let outputs = folder.at("o.npz");
        printed(&["run", &folder.at("p.pto"), "--engine", engine, "--check", "--outputs", &outputs]);
        let stored = Npz::open(&folder.path("o.npz")).unwrap().read("out").unwrap();
        assert_eq!(stored.as_slice::<f32>().unwrap(), wanted, "{engine}: {}", &stmt[..20]);
    }
}

#[test]
fn sums_of_thousands_of_terms_are_added_from_left_to_right() {
    let terms: Vec<f32> = (0..10_000).map(|n| [0.1, 1e6, -1e6, 3.7][n % 4]).collect();
    let sum: String = terms.iter().map(|term| format!(" + {term:.1}f")).collect();
    check(&format!("y = y{sum};"), |y| terms.iter().fold(y, |sum, term| sum + term));
    let integers: String = (0..1_800).map(|n| [" + x", " - x * 1", " + 2"][n % 3]).collect();
    check(&format!("y = (float)(x + 9{integers});"), |y| y + 9.0 + 1200.0);
    let factors = " * 1.5f / 1.25f / 1.2f".repeat(600);
    check(&format!("y = y{factors};"), |y| (0..600).fold(y, |product, _| product * 1.5 / 1.25 / 1.2));
}

#[test]
fn statements_and_operators_at_the_limits_run_and_one_more_is_refused() {
    let nested = |n: usize| {
        let ifs = "if (x < 9) { ".repeat(n);
        let sum = format!("{}y{}", "(1.0f + ".repeat(128), ")".repeat(128));
        format!("{ifs} y = {sum}; {}", "}".repeat(n))
    };
    check(&nested(128), |y| y + 128.0);
    let folder = Folder::with(&[("p.pto", &program(&nested(129)))]);
    let (code, _, err) = run(&["run", &folder.at("p.pto")]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("WSP0018") && err.contains("statements nest at most 128 deep"), "{err}");
}
