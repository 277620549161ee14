//! What messages offer: each command works, and gets further.

use super::checks::{COPY, Folder, refused, rows};
use super::run;
use wsp_cli::files::write_npz;
use wsp_core::DType;
use wsp_plan::{Array, Arrays};

/// Rows of `x` in `y`, each as often as `lens` says.
const RAGGED: &str = "
PTO_SHAPE(lens, rows)
PTO_SHAPE(x, rows, 4)
PTO_SHAPE(y, rows, 4)
struct D { uint32_t i; uint32_t c; };
PTO_SPACE(S) { PTO_AXIS(row, 0, rows) PTO_AXIS(c, 0, PTO_DYNAMIC) }
PTO_DESCRIPTOR_GEN(S) {
    PTO_SET_EXTENT(c, lens);
    PTO_SCHEDULED_FOR(i, c) { PTO_EMIT_DESCRIPTOR(D{ .i = i, .c = c }); }
}
PTO_KERNEL_IMPL(k) {
    auto d = PTO_GET_DESCRIPTOR<D>();
    VecTile<float, 1, 4> t;
    TLOAD(t, x, {d.i});
    TSTORE(y, t, {d.i});
}
void entry(Tensor x, Tensor<float> y, uint32_t* lens) { PTO_LAUNCH(S, { .x = x, .y = y, .lens = lens }); }
";

const LIBRARY: &str = "
PTO_SHAPE(x, rows, 4)
PTO_SHAPE(z, rows, 4)
PTO_SHAPE(y, rows, 4)
struct Row { uint32_t i; };
PTO_KERNEL_IMPL(copy_row) {
    auto d = PTO_GET_DESCRIPTOR<Row>();
    VecTile<float, 1, 4> t;
    VecTile<float, 1, 4> u;
    TLOAD(t, x, {d.i});
    TLOAD(u, z, {d.i});
    TADD(t, t, u);
    TSTORE(y, t, {d.i});
}
";

const USER: &str = "use \"library.pto\";
param n = 4;
workload main { parallel for i in 0..n { copy_row(i = i); } }
schedule virtual { task_graph(trace = cycles); }
";

const TWO_INPUTS: &str = "param n = 4; tensor x: u32[4]; tensor w: u32[4]; tensor y: u32[4];
kernel k(in a, in b, out c); workload main { parallel for i in 0..n { k(x[i], w[i], y[i]); } }";

/// Copies of a tensor of a known size, and of one of which nothing says it.
const UNIT: &str = "extern X: i64[4]\nextern Y: i64[4]\nextern W: i64[4]\nextern Z: i64[4]\narg N: i64 = 3
TG_BEGIN(G)\nMC_COPY(X, Y, 32)\nMC_COPY(W, Z, 32)\nTG_END(G)
CF_LOOP(N, i, SEQUENTIAL)\nTG_INVOKE(G, i)\nCF_ENDLOOP";

fn files() -> Folder {
    let folder = Folder::new();
    folder.write("ragged.pto", RAGGED);
    folder.write("rows.pto", &rows("rows", COPY));
    folder.write(
        "tiles.pto",
        &rows("tiles", COPY).replace("uint32_t, shift, 0", "int32_t, tiles, 2").replace("+ shift", ""),
    );
    folder.write("library.pto", LIBRARY);
    folder.write("user.wsp", USER);
    folder.write("two.wsp", TWO_INPUTS);
    folder.write("unit.tg", UNIT);
    let path = |name: &str| std::path::PathBuf::from(folder.at(name));
    write_npz(&path("none.npz"), &Arrays::new()).unwrap();
    for (name, array, values) in [
        ("lens", DType::U32, &[1u32, 0, 2][..]),
        ("two.x", DType::U32, &[1, 2, 3, 4]),
        ("two.w", DType::U32, &[1, 2, 3, 4]),
    ] {
        let mut of = Array::zeros(array, &[values.len() as u64]).unwrap();
        of.as_slice_mut::<u32>().unwrap().copy_from_slice(values);
        let inside = name.trim_start_matches("two.").to_owned();
        write_npz(&path(&format!("{name}.npz")), &Arrays::from([(inside, of)])).unwrap();
    }
    folder
}

/// What stands between backquotes behind `help:` and begins with an option.
fn offered(err: &str) -> Vec<String> {
    let helps = err.lines().filter_map(|line| line.split_once("= help: "));
    let quoted = helps.flat_map(|(_, help)| help.split('`').skip(1).step_by(2));
    quoted.filter(|text| text.starts_with("--")).map(str::to_owned).collect()
}

/// The messages of errors.
fn errors(err: &str) -> Vec<String> {
    err.lines().filter(|line| line.starts_with("error")).map(str::to_owned).collect()
}

/// A command line with an offer: an option that has one value replaces the one that is there.
fn with(line: &[&str], offer: &str) -> Vec<String> {
    let words: Vec<&str> = offer.split(' ').collect();
    let mut all: Vec<String> = Vec::new();
    let mut rest = line.iter().peekable();
    while let Some(word) = rest.next() {
        let is_replaced = words.contains(word) && ["--set", "--generate"].contains(word);
        match rest.peek() {
            Some(value) if is_replaced && !value.starts_with("--") => drop(rest.next()),
            _ => all.push((*word).to_owned()),
        }
    }
    all.extend(words.into_iter().map(str::to_owned));
    all
}

/// Command lines that fail, and all that their messages offer, but for arrays to be given.
const TABLE: &[(&str, &[&str])] = &[
    // An integer array is not made up, so that not all that is missing is.
    ("run ragged.pto --inputs none.npz", &["--fill x"]),
    ("run ragged.pto --inputs lens.npz", &["--fill x", "--generate"]),
    ("plan ragged.pto --inputs lens.npz", &["--fill x", "--generate"]),
    ("run rows.pto --fill y", &["--fill x", "--generate"]),
    ("run two.wsp --inputs none.npz", &["--fill x", "--generate", "--fill w", "--generate"]),
    ("run two.wsp --inputs two.x.npz", &["--fill w", "--generate"]),
    ("run two.wsp --fill x", &["--fill w", "--generate"]),
    ("run user.wsp --inputs none.npz", &["--fill x", "--generate", "--fill z", "--generate"]),
    ("run user.wsp --fill z", &["--fill x", "--generate"]),
    (
        "run user.wsp --inputs none.npz --schedule virtual",
        &["--fill x", "--generate", "--fill z", "--generate"],
    ),
    ("graph user.wsp --inputs none.npz", &["--fill x", "--generate", "--fill z", "--generate"]),
    ("plan user.wsp --bytes --inputs none.npz", &["--fill x", "--generate", "--fill z", "--generate"]),
    ("run unit.tg --inputs none.npz", &["--fill X", "--generate", "--fill W", "--generate"]),
    ("run unit.tg --fill X", &["--fill W", "--generate"]),
    // What is set to nothing, or made up of nothing, is named with its option.
    ("run rows.pto --generate rows=0", &["--generate rows=1"]),
    ("run tiles.pto --set tiles=0", &["--set tiles=1", "--allow-unwritten y"]),
    ("run two.wsp --set n=0", &["--set n=1", "--allow-unwritten y"]),
    ("run user.wsp --set n=0", &["--set n=1", "--allow-unwritten y"]),
    ("run unit.tg --set N=0", &["--set N=1", "--allow-unwritten Y", "--allow-unwritten Z"]),
];

#[test]
fn every_command_that_a_message_offers_gets_further() {
    let folder = files();
    let mut wrong = Vec::new();
    for (line, expected) in TABLE {
        let line: Vec<String> = line
            .split(' ')
            .map(|word| if word.contains('.') { folder.at(word) } else { word.to_owned() })
            .collect();
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let (code, out, err) = run(&line);
        let offers: Vec<String> =
            offered(&err).into_iter().filter(|offer| !offer.starts_with("--input")).collect();
        if code != 1 || offers != *expected {
            wrong.push(format!("{line:?}: status {code}, offers {offers:?}\n{out}{err}"));
        }
        for offer in offers {
            let again = with(&line, &offer);
            let (code, _, further) = run(&again.iter().map(String::as_str).collect::<Vec<_>>());
            let gone = errors(&err).iter().any(|error| !errors(&further).contains(error));
            if code == 2 || !gone {
                wrong.push(format!("{again:?}: status {code}\n{further}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Beside arrays that are given nothing is made up for a graph either; what is made up is named.
#[test]
fn what_is_made_up_for_tasks_that_do_not_run_is_asked_for_and_named() {
    let folder = files();
    let (user, none) = (folder.at("user.wsp"), folder.at("none.npz"));
    for command in
        [&["graph", &user][..], &["plan", "--bytes", &user], &["run", &user, "--schedule", "virtual"]]
    {
        let given = [command, &["--inputs", &none]].concat();
        let (out, err) = refused(&given);
        assert!(out.is_empty() && err.contains("array `x` is missing"), "{command:?}: {out}{err}");
        for options in [&["--generate"][..], &["--fill", "x", "--fill", "z", "--seed", "7"]] {
            let (code, out, err) = run(&[&given[..], options].concat());
            let seed = if options.contains(&"7") { 7 } else { 1 };
            assert_eq!((code, err.as_str()), (0, ""), "{command:?} {options:?}");
            assert!(out.contains(&format!("x, z made up from seed {seed}")), "{command:?}: {out}");
        }
        let (code, out, _) = run(command);
        assert!(code == 0 && out.contains("inputs     x, z made up from seed 1"), "{command:?}: {out}");
    }
    let (_, out, _) = run(&["graph", &user, "--json"]);
    let report = super::checks::json(&out);
    assert_eq!((&report["made_up"], &report["seed"]), (&serde_json::json!(["x", "z"]), &1.into()));
    let (_, out, _) = run(&["plan", &folder.at("rows.pto"), "--generate", "rows=3"]);
    assert!(out.contains("inputs     x made up from seed 1"), "{out}");
    // Of declared kernels nothing is made up, and none of these says anything.
    for option in [&["--fill", "x"][..], &["--generate"], &["--seed", "7"]] {
        let (_, err) = refused(&[&["graph", &folder.at("two.wsp")], option].concat());
        assert!(err.contains(&format!("`{}` has no meaning", option[0])), "{err}");
    }
}

/// The length of a table that is given says an extent of what is made up beside it.
#[test]
fn a_given_table_gives_its_length_to_what_is_made_up() {
    let folder = files();
    let user = folder.write(
        "lens.wsp",
        "use \"library.pto\"; param rows; table lens[rows];
         workload main { parallel for i in 0..rows { copy_row(i = min(i, lens[i])); } }",
    );
    let given = ["--inputs", &folder.at("lens.npz"), "--generate"];
    for command in [&["run", "--no-check", &user][..], &["graph", &user]] {
        let (code, out, err) = run(&[command, &given[..]].concat());
        assert_eq!((code, err.as_str()), (0, ""), "{command:?}: {out}");
        assert!(out.contains("lens u32[3]; x, z made up"), "{out}");
    }
}

/// What says how long other arrays are is not made up where these are given and are of another length.
#[test]
fn row_pointers_are_not_made_up_beside_rows_that_are_given() {
    let folder = Folder::new();
    let file = folder.at("rows.npz");
    let array = |heads: u64| Array::zeros(DType::F32, &[300, heads, 16]).unwrap();
    let arrays = [("q", array(4)), ("k", array(2)), ("v", array(2))];
    let arrays = arrays.map(|(name, array)| (name.to_owned(), array)).into();
    write_npz(std::path::Path::new(&file), &arrays).unwrap();
    let line = ["run", "examples/ragged_prefill/prefill.pto", "--inputs", &file];
    let (_, err) = refused(&line);
    assert!(err.contains("`indptr` is missing") && !err.contains("--fill"), "{err}");
    for option in [&["--fill", "indptr"][..], &["--generate"]] {
        let (out, err) = refused(&[&line[..], option].concat());
        assert!(
            out.is_empty() && err.contains("`indptr` cannot be made up beside arrays that are given"),
            "{err}"
        );
        assert!(err.contains("`total` is 300 by these, and 1045 by what would be made up"), "{err}");
    }
}
