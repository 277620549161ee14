//! A folder with a file of each kind, and runs of commands on them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use wsp_cli::files::write_npz;
use wsp_core::DType;
use wsp_plan::{Array, Arrays};

/// A kind of file, in a folder of its own.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    /// The folder.
    pub(super) name: &'static str,
    /// The file in it.
    pub(super) file: &'static str,
    /// Options that every command line has.
    pub(super) always: &'static str,
    /// An array that it takes.
    pub(super) input: &'static str,
    /// An output.
    pub(super) output: &'static str,
    /// A value that it takes.
    pub(super) set: &'static str,
}

pub(super) const PROGRAM: Kind =
    Kind { name: "program", file: "main.pto", always: "", input: "x", output: "y", set: "times=2" };
pub(super) const WORKLOAD: Kind =
    Kind { name: "workload", file: "main.wsp", always: "", input: "x", output: "y", set: "n=3" };
pub(super) const CYCLES: Kind = Kind { name: "cycles", input: "len", ..WORKLOAD };
pub(super) const LIBRARY: Kind =
    Kind { name: "library", file: "main.wsp", always: "", input: "x", output: "y", set: "n=2" };
pub(super) const UNIT: Kind =
    Kind { name: "unit", file: "main.tg", always: "", input: "X", output: "Y", set: "ROUNDS=2" };
pub(super) const PLAIN: Kind = Kind { name: "plain", ..UNIT };
/// Of each kind of file that runs kernels, one with a warning and one that leaves a part of its output.
pub(super) const FAULTY: [Kind; 4] = [PROGRAM, WORKLOAD, LIBRARY, PLAIN];
pub(super) const GENERATOR: Kind = Kind { file: "main.ptows", ..WORKLOAD };

/// Rows of `x` in `y`.
const ROWS: &str = "
PTO_SHAPE(x, rows, 4)
PTO_SHAPE(y, rows, 4)
PTO_PARAM(uint32_t, times, 1)
struct Row { uint32_t i; };
PTO_SPACE(S) { PTO_AXIS(row, 0, rows) }
PTO_SCHEDULE(own) { PTO_ORDER(row, PTO_PARALLEL) }
PTO_SCHEDULE(other) { PTO_ORDER(row, PTO_SEQUENTIAL) }
PTO_DESCRIPTOR_GEN(S) {
    PTO_APPLY_SCHEDULE(own);
    PTO_SCHEDULED_FOR(r) {
        for (uint32_t i = 0; i < times; ++i) { PTO_EMIT_DESCRIPTOR(Row{ .i = r }); }
    }
}
PTO_KERNEL_IMPL(copy_row) {
    auto d = PTO_GET_DESCRIPTOR<Row>();
    VecTile<float, 1, 4> t;
    TLOAD(t, x, {d.i});
    TSTORE(y, t, {d.i});
}
void entry(Tensor x, Tensor<float> y) { PTO_LAUNCH(S, { .x = x, .y = y }); }
";

/// Tasks in a chain; how many, the first number of a table says.
const CHAIN: &str = "
param n = 4;
table len = [3];
tensor x: u32[8];
tensor y: u32[n];
kernel push(inout v) cost 5;
kernel fill(in v, out row) cost 7;
workload main { for i in 0..len[0] { push(x); parallel for j in 0..n { fill(x[0..2], y[j]); } } }
schedule other { task_graph(ready = fifo, deps = hybrid); }
";

const USER: &str = "
use \"rows.pto\";
param n = 4;
workload main { parallel for i in 0..n { copy_row(i = i); } }
schedule other { task_graph(ready = fifo, deps = hybrid); }
";

const KERNELS: &str = "
PTO_PARAM(uint32_t, COLS, 64)
PTO_SHAPE(x, rows, COLS)
PTO_SHAPE(y, rows, COLS)
PTO_KERNEL_IMPL(relax_entry, Tensor<float> x, Tensor<float> y) {
    for (uint32_t r = get_block_idx() * 16; r < rows; r += get_block_num() * 16) {
        VecTile<float, 16, COLS> t;
        TLOAD(t, x, {r});
        TMULS(t, t, 0.5f);
        TSTORE(y, t, {r});
    }
}
";

const GRAPHS: &str = "
use \"relax.pto\"
extern X: f32[64, 64]
extern Y: f32[64, 64]
arg ROUNDS: i64 = 3
EVENT
TG_BEGIN(G)
  TG_KERNEL(A, relax_entry, 4, AIV, 0)
  MC_BIND(A, 0, X)
  MC_BIND(A, 1, Y)
  MORE
TG_END(G)
TG_BEGIN(H)
  TG_KERNEL(B, relax_entry, 2, AIV, 0)
  MC_BIND(B, 0, X)
  MC_BIND(B, 1, Y)
  TG_KERNEL(C, relax_entry, 2, AIV, 0)
  MC_BIND(C, 0, X)
  MC_BIND(C, 1, Y)
  TG_DEPEND(B, C, DATA, Y)
TG_END(H)
CF_IF(device == 0)
CF_LOOP(ROUNDS, i)
  TG_INVOKE(G, i)
CF_ENDLOOP
TG_SYNC(G)
TG_LAUNCH(H, default)
TG_SYNC(H)
CF_ENDIF
";

/// What a command came to.
#[derive(PartialEq, Debug)]
pub(super) struct Ran {
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
    /// Files in its folder, with what they hold.
    pub(super) files: BTreeMap<PathBuf, Vec<u8>>,
}

pub(super) struct Files(TempDir);

/// Tasks of many lengths, which workers take from each other.
const STEALING: &str = "
param n = 60;
tensor x: u32[n];
tensor s: u32[6];
kernel begin(inout s) cost 3;
kernel work(in s, inout v, c) cost 1 + c % 7;
workload main { parallel for j in 0..6 { begin(s[j]); parallel for i in 0..10 { work(s[j], x[j * 10 + i], i); } } }
schedule { task_graph(trace = cycles, ready = work_steal); }
schedule other { task_graph(trace = cycles, ready = fifo); }
";

fn array(dtype: DType, shape: &[u64], value: u8) -> Array {
    let mut array = Array::zeros(dtype, shape).unwrap();
    if let Some(words) = array.as_slice_mut::<u32>() {
        words.fill(value.into());
    }
    array
}

fn npy(array: &Array) -> Vec<u8> {
    let descr = if array.dtype() == DType::F32 { "<f4" } else { "<u4" };
    let shape: String = array.shape().iter().map(|n| format!("{n},")).collect();
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    [&b"\x93NUMPY\x01\x00\x76\x00"[..], format!("{header:<117}\n").as_bytes(), array.bytes()].concat()
}

impl Files {
    pub(super) fn new() -> Files {
        let files = Files(tempfile::tempdir().unwrap());
        let cycles = format!("{CHAIN}schedule {{ task_graph(trace = cycles); }}");
        let relaxed = [("relax.pto", KERNELS), ("idle.pto", &KERNELS.replace("relax_entry", "idle_entry"))];
        let unit = GRAPHS
            .replace("EVENT", "extern event SIGNAL")
            .replace("MORE", "CA_REQUEST(A, 0, 2)\n  TG_CHECKPOINT(G, MIDDLE)");
        let plain = GRAPHS.replace("EVENT", "").replace("MORE", "");
        let library = ROWS.replace("rows, 4)", "n, 4)").replace("0, rows)", "0, n)");
        let library = format!("PTO_PARAM(uint32_t, n, 4)\n{library}");
        let floats =
            |name: &str, shape: &[u64]| Arrays::from([(name.to_owned(), array(DType::F32, shape, 0))]);
        let table = Arrays::from([("len".to_owned(), array(DType::U32, &[1], 2))]);
        let mut chain = table.clone();
        chain.insert("x".to_owned(), array(DType::U32, &[8], 1));
        files.fill("program", &[("main.pto", ROWS)], &floats("x", &[3, 4]));
        files.fill("workload", &[("main.wsp", CHAIN)], &chain);
        files.fill("cycles", &[("main.wsp", &cycles)], &table);
        files.fill("library", &[("main.wsp", USER), ("rows.pto", &library)], &floats("x", &[4, 4]));
        files.fill("unit", &[&relaxed[..], &[("main.tg", &unit)]].concat(), &floats("X", &[64, 64]));
        files.fill("plain", &[&relaxed[..], &[("main.tg", &plain)]].concat(), &floats("X", &[64, 64]));
        files.faulty(&library, &plain);
        for (folder, args) in [
            ("workload", ["disasm", "main.wsp", "-o", "main.ptows"]),
            ("workload", ["asm", "main.wsp", "-o", "main.ptow"]),
            ("unit", ["asm", "main.tg", "-o", "main.ptog"]),
        ] {
            let ran = files.run(folder, &args);
            assert_eq!(ran.code, 0, "{ran:?}");
        }
        files
    }

    /// Writes the files with a warning and those that leave a part of their output.
    fn faulty(&self, library: &str, plain: &str) {
        let spare = |text: &str| format!("tensor spare: u32[4];\n{text}");
        let user = |text: &str| format!("use \"rows.pto\";\n{}", text.replace("use \"rows.pto\";", ""));
        let copy = "extern X: f32[64, 64]\nextern Y: f32[64, 64]\nTG_BEGIN(G)\nMC_COPY(X, Y, 64)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\n";
        assert!(library.contains("n, 4)"));
        for (path, text) in [
            ("program/warned.pto", ROWS.replace("i < times", "i < 1")),
            ("program/partial.pto", ROWS.replace("0, rows)", "1, rows)")),
            ("workload/warned.wsp", spare(CHAIN)),
            ("workload/partial.wsp", CHAIN.replace("j in 0..n", "j in 1..n")),
            ("library/warned.wsp", user(&spare(USER))),
            ("library/partial.wsp", USER.replace("i in 0..n", "i in 1..n")),
            ("plain/warned.tg", plain.replace("TG_END(H)", "MC_ALLOC(T, 64)\nTG_END(H)")),
            ("cycles/stealing.wsp", STEALING.to_owned()),
            ("plain/partial.tg", copy.to_owned()),
            (
                "plain/waiting.tg",
                plain
                    .replace("arg ROUNDS", "extern event SIGNAL\narg ROUNDS")
                    .replace("  TG_DEPEND", "  SY_WAIT(SIGNAL, C)\n  TG_DEPEND"),
            ),
        ] {
            std::fs::write(self.0.path().join(path), text).unwrap();
        }
    }

    /// Writes texts; arrays by themselves, in an archive, and in one with an entry more.
    fn fill(&self, folder: &str, texts: &[(&str, &str)], arrays: &Arrays) {
        let folder = self.0.path().join(folder);
        std::fs::create_dir(&folder).unwrap();
        for (name, text) in texts {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let mut more = arrays.clone();
        more.insert("more".to_owned(), array(DType::F32, &[2], 0));
        for (name, arrays) in [("in.npz", arrays), ("more.npz", &more), ("none.npz", &Arrays::new())] {
            write_npz(&folder.join(name), arrays).unwrap();
        }
        for (name, array) in arrays {
            std::fs::write(folder.join(format!("{name}.npy")), npy(array)).unwrap();
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn run(&self, folder: &str, args: &[&str]) -> Ran {
        let folder = self.0.path().join(folder);
        let mut command = Command::new(crate::command::program());
        let output = command.current_dir(&folder).env("NO_COLOR", "1").args(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran {
            code: output.status.code().unwrap(),
            out: text(&output.stdout),
            err: text(&output.stderr),
            files: in_folder(&folder),
        }
    }

    /// Whether the value of an option is looked at: one that has no meaning is refused, and the option named.
    fn is_read(&self, kind: &Kind, line: &[&str], option: &[String]) -> bool {
        let [name, _] = option else { return option.len() == 1 };
        let ran = self.run(kind.name, &[line, &[name.as_str(), "nonsense"]].concat());
        ran.code != 0 && [name.as_str(), "nonsense"].iter().any(|word| ran.err.contains(*word))
    }

    /// Whether a mark of a table holds.
    pub(super) fn check(
        &self,
        command: &str,
        kind: &Kind,
        base: &str,
        option: &str,
        mark: &str,
    ) -> Result<(), String> {
        let words = |text: &str| {
            let text =
                text.replace("{in}", kind.input).replace("{out}", kind.output).replace("{set}", kind.set);
            text.split_whitespace().map(str::to_owned).collect::<Vec<String>>()
        };
        let before = in_folder(&self.0.path().join(kind.name));
        let line = [vec![command.to_owned(), kind.file.to_owned()], words(kind.always), words(base)].concat();
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let without = self.run(kind.name, &line);
        let option = words(option);
        let with = self
            .run(kind.name, &[&line[..], &option.iter().map(String::as_str).collect::<Vec<_>>()].concat());
        for path in with.files.keys().filter(|path| !before.contains_key(*path)) {
            let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
        }
        let shown = |ran: &Ran| (steady(&ran.out), steady(&ran.err), ran.files.clone());
        let named = |word: &String| with.err.contains(word.split('=').next().unwrap_or_default());
        let holds = match mark {
            "+" => with.code == 0 && shown(&with) != shown(&without),
            "=" => with.code == 0 && shown(&with) == shown(&without) && self.is_read(kind, &line, &option),
            "!" => without.code == 0 && with.code == 1 && with.err.contains("error["),
            "." => true,
            // What is checked is told before the options that none of the files has used.
            _ => {
                with.code != 0
                    && (with.out.is_empty() || command == "check")
                    && words(base).iter().chain(&option).any(named)
            }
        };
        if holds {
            Ok(())
        } else {
            Err(format!("status {}: {}", with.code, with.err.lines().next().unwrap_or_default()))
        }
    }
}

fn in_folder(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    // A trace holds times, and a checkpoint lies in a folder of its own.
    let has_times = |path: &Path| path.extension().is_some_and(|extension| extension == "json");
    let bytes =
        |path: &Path| if has_times(path) { Vec::new() } else { std::fs::read(path).unwrap_or_default() };
    paths.map(|path| (path.clone(), bytes(&path))).collect()
}

/// A text without what is another in every run: times, and how tasks met.
fn steady(text: &str) -> String {
    let lines = text.lines().filter(|line| {
        !["  graph", "  balance", "  KV read", "  waits", "  critical"]
            .iter()
            .any(|start| line.starts_with(start))
    });
    let word = |(word, next): (&str, &str)| {
        let is_time = (word.contains('.') || next.starts_with("ms")) && word.parse::<f64>().is_ok();
        if is_time { "#".to_owned() } else { word.to_owned() }
    };
    let line = |line: &str| {
        let next = line.split(' ').skip(1).chain([""]);
        line.split(' ').zip(next).map(word).collect::<Vec<_>>().join(" ") + "\n"
    };
    lines.map(line).collect()
}
