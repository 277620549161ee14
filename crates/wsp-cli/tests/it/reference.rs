//! `wsp run --reference FILE.py`: outputs against a function in Python. Where the machine has no numpy, a part of it stands in.

use crate::command::{Folder, ended, wsp};

const NUMPY: &str = include_str!("reference/numpy.py");
const NO_NUMPY: &str = "raise ImportError(\"No module named 'numpy'\")\n";

/// Twice `x`, in three kinds of file.
const PROGRAM: &str = "
PTO_SHAPE(x, rows, 4)
PTO_SHAPE(y, rows, 4)
PTO_PARAM(float, by, 2.0f)
struct Row { uint32_t i; };
PTO_SPACE(S) { PTO_AXIS(row, 0, rows) }
PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(r) { PTO_EMIT_DESCRIPTOR(Row{ .i = r }); } }
PTO_KERNEL_IMPL(twice) {
    auto d = PTO_GET_DESCRIPTOR<Row>();
    VecTile<float, 1, 4> t;
    TLOAD(t, x, {d.i});
    TMULS(t, t, by);
    TSTORE(y, t, {d.i});
}
void entry(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(S, { .x = x, .y = y }); }
";
const WORKLOAD: &str = "
use \"p.pto\";
param rows;
workload main { parallel for i in 0..rows { twice(i = i); } }
";
const KERNELS: &str = "
PTO_PARAM(float, by, 2.0f)
PTO_SHAPE(x, rows, 4)
PTO_SHAPE(y, rows, 4)
PTO_KERNEL_IMPL(twice_entry, Tensor<float> x, Tensor<float> y) {
    for (uint32_t r = get_block_idx(); r < rows; r += get_block_num()) {
        VecTile<float, 1, 4> t;
        TLOAD(t, x, {r});
        TMULS(t, t, by);
        TSTORE(y, t, {r});
    }
}
";
const UNIT: &str = "
use \"k.pto\"
extern x: f32[6, 4]
extern y: f32[6, 4]
TG_BEGIN(G)
  TG_KERNEL(A, twice_entry, 2, AIV, 0)
  MC_BIND(A, 0, x)
  MC_BIND(A, 1, y)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
";

struct References(Folder);

impl References {
    fn new(numpy: &str) -> References {
        let files = [
            ("p.pto", PROGRAM),
            ("w.wsp", WORKLOAD),
            ("k.pto", KERNELS),
            ("u.tg", UNIT),
            ("numpy.py", numpy),
        ];
        let folder = Folder::with(&files);
        assert_eq!(crate::command::run(&["asm", &folder.at("w.wsp"), "-o", &folder.at("w.ptow")]).0, 0);
        References(folder)
    }

    /// Exit code, stdout, stderr of a run with this text as the reference.
    fn run(&self, args: &[&str], text: &str) -> (i32, String, String) {
        std::fs::write(self.0.path("r.py"), text).unwrap();
        let mut command = wsp(&["run"]);
        command.current_dir(self.0.0.path()).env("PYTHONPATH", self.0.0.path());
        command.args(args).args(["--reference", "r.py"]);
        ended(command)
    }
}

const FILES: [&[&str]; 4] = [
    &["p.pto", "--generate", "rows=6"],
    &["w.wsp", "--generate", "rows=6"],
    &["u.tg"],
    &["w.ptow", "--kernels", "p.pto", "--generate", "rows=6"],
];

#[test]
fn outputs_of_every_kind_of_file_are_compared_with_a_function_in_python() {
    let references = References::new(NUMPY);
    for args in FILES {
        let right = "import os\nos.write(1, b'noise')\ndef reference(x, by=2.0):\n    assert type(by) is float\n    return {'y': x * by}\n";
        let (code, out, err) = references.run(args, right);
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}: {out}");
        assert!(
            out.contains("f64 reference `r.py`") && !out.contains("not an independent"),
            "{args:?}: {out}"
        );
        let wrong = "def reference(x):\n    y = x * 2.0\n    y.flat[5] += 1.0\n    return {'y': y}\n";
        let (code, _, err) = references.run(args, wrong);
        assert_eq!(code, 1, "{args:?}");
        assert!(
            err.contains("WSP0533") || err.contains("`y` differs from the f64 reference"),
            "{args:?}: {err}"
        );
        assert!(err.contains("at [1, 1]: have"), "{args:?}: {err}");
    }
}

#[test]
fn a_reference_that_gives_no_numbers_is_told_what_is_wrong_with_it() {
    let references = References::new(NUMPY);
    for (text, parts) in [
        ("def reference(x):\n    return {'y': x.reshape((12, 2))}", &["[12, 2]", "[6, 4]"][..]),
        ("def reference(x):\n    x.flat[2] = float('nan')\n    return {'y': x}", &["NaN for `y`", "[0, 2]"]),
        (
            "def reference(x):\n    raise ValueError('no such thing')",
            &["ValueError: no such thing", "line 2"],
        ),
        ("def reference(x):\n    return {'yy': x}", &["`yy`, which is no output", "`y`"]),
        ("def reference(x):\n    return x", &["not a dict"]),
        ("def reference(x):\n    return {}", &["gives no output"]),
        ("def other(x):\n    return {}", &["no function `reference`"]),
        ("def reference(x, w):\n    return {}", &["`w`", "`x`", "`rows`"]),
        ("def reference(x", &["SyntaxError"]),
        ("import sys\nsys.stderr.write('lost')\nimport os\nos._exit(3)", &["exit status: 3", "lost"]),
        ("tolerance = -1\ndef reference(x):\n    return {'y': x}", &["`tolerance`"]),
        ("tolerance = True\ndef reference(x):\n    return {'y': x}", &["`tolerance` is True"]),
        ("def reference(x):\n    return {'y': x * 2j}", &["`y` is of complex128"]),
        ("import sys\ndef reference(x):\n    sys.exit('no data')", &["SystemExit: no data", "line 3"]),
    ] {
        for args in FILES.iter().take(if text.contains("`rows`") { 2 } else { 1 }) {
            let (code, _, err) = references.run(args, text);
            assert_eq!(code, 1, "{text}");
            assert!(err.contains("error[WSP0535]"), "{text}: {err}");
            assert!(parts.iter().all(|part| err.contains(part)), "{text}: {err}");
        }
    }
    let missing = References::new(NO_NUMPY);
    let (code, _, err) = missing.run(FILES[0], "def reference(x):\n    return {'y': x}");
    assert!(code == 1 && err.contains("no numpy") && err.contains("pip install numpy"), "{err}");
    let mut command = wsp(&["run"]);
    command.current_dir(missing.0.0.path()).env("PATH", missing.0.0.path());
    let (code, _, err) = ended({
        command.args(FILES[0]).args(["--reference", "r.py"]);
        command
    });
    assert!(code == 1 && err.contains("needs Python") && err.contains("`PATH`"), "{err}");
}

#[test]
fn a_reference_says_how_far_off_outputs_may_be() {
    let references = References::new(NUMPY);
    let off = "def reference(x):\n    return {'y': x * 2.002}\n";
    assert_eq!(references.run(FILES[0], off).0, 1);
    let (code, out, err) = references.run(FILES[0], &format!("tolerance = 0.01\n{off}"));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
}

#[test]
fn a_reference_is_refused_where_no_kernel_computes() {
    let references = References::new(NUMPY);
    let text = "tensor x: f32[4]; kernel k(out x); workload main { k(x); }\n";
    std::fs::write(references.0.path("d.wsp"), text).unwrap();
    let (code, out, err) = references.run(&["d.wsp"], "def reference():\n    return {}\n");
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("`--reference` has no meaning"), "{err}");
    assert_eq!(references.run(&["p.pto", "--no-check"], "").0, 2);
}

/// The results are written before they are compared. What is left of them goes with what is written beside them next.
#[test]
fn results_of_a_run_that_was_killed_do_not_stay() {
    let references = References::new(NUMPY);
    let kills = "import os, signal\ndef reference(x):\n    os.kill(os.getppid(), signal.SIGKILL)\n    signal.pause()\n";
    let named = || {
        let all = std::fs::read_dir(references.0.0.path()).unwrap();
        let all = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        all.filter(|name| name.starts_with(".wsp-") || name == "o.npz").collect::<Vec<_>>()
    };
    let file = references.0.at("p.pto");
    let to = references.0.at("package");
    for next in [
        &["run", &file, "--generate", "rows=6", "--no-check", "--outputs", "o.npz"][..],
        &["emit", &file, "--target", "a2", "-o", &to],
    ] {
        std::fs::write(references.0.path("r.py"), kills).unwrap();
        let mut killed = wsp(&["run", "p.pto", "--generate", "rows=6", "--outputs", "o.npz"]);
        killed.current_dir(references.0.0.path()).env("PYTHONPATH", references.0.0.path());
        let killed = killed.args(["--reference", "r.py"]).output().unwrap();
        assert_eq!(killed.status.code(), None, "{}", String::from_utf8_lossy(&killed.stderr));
        let left = named().into_iter().filter(|name| name != "o.npz").collect::<Vec<_>>();
        assert!(matches!(&left[..], [name] if name.ends_with(".partial")), "{left:?}");
        let mut next = wsp(next);
        next.current_dir(references.0.0.path());
        let (code, out, err) = ended(next);
        assert_eq!(code, 0, "{out}{err}");
        assert_eq!(named(), ["o.npz"]);
    }
}
