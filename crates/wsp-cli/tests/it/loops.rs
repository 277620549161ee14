//! Loops of `.pto` programs that count mean what the same loops mean that do not, up to the ends of their types.

use pto_wsp::backend::cpu::CpuSimBackend;
use wsp_backend::{Args, Backend, Program, RunOptions};
use wsp_diag::SourceMap;
use wsp_kernel::Engine;
use wsp_plan::{CompileOptions, ParamValue, PlanSource, lower};

/// A type with its bits, and whether it has a sign.
type Int = (&'static str, u32, bool);

const TYPES: [Int; 4] =
    [("int32_t", 32, true), ("uint32_t", 32, false), ("int64_t", 64, true), ("uint64_t", 64, false)];
/// What runs scalar code.
const ENGINES: [Engine; 2] = [Engine::Interpreter, Engine::Native];
/// Passes after which the loops that `break` leaves are left.
const LEFT: i128 = 3;
/// More passes than any test runs.
const MOST: i128 = 10;

fn bounds((_, bits, signed): Int) -> (i128, i128) {
    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

fn holds(ty: Int, value: i128) -> bool {
    let (low, high) = bounds(ty);
    (low..=high).contains(&value)
}

/// The type in which C compares two numbers.
fn common(a: Int, b: Int) -> Int {
    match a.1.cmp(&b.1) {
        std::cmp::Ordering::Less => b,
        std::cmp::Ordering::Greater => a,
        std::cmp::Ordering::Equal => {
            if a.2 {
                b
            } else {
                a
            }
        }
    }
}

/// What a loop does by C, with a fault where a value would change: how many passes; none if it is a fault, or `Err` if it takes too long.
fn model(var: Int, end: Int, from: i128, to: i128, left: bool) -> Result<Option<i128>, ()> {
    let wide = common(var, end);
    let mut q = from;
    for passes in 0..=MOST {
        if !holds(wide, q) || !holds(wide, to) {
            return Ok(None);
        }
        if q >= to || (left && passes == LEFT) {
            return Ok(Some(passes));
        }
        q += 1;
        if !(holds(var, q) || left && passes + 1 == LEFT) {
            return Ok(None);
        }
    }
    Err(())
}

/// A loop, by each engine.
fn program(var: Int, end: Int, head: &str, body: &str) -> [Box<dyn Program>; 2] {
    let source = format!(
        "PTO_PARAM({var}, start, 0) PTO_PARAM({end}, n, 0)
         PTO_SHAPE(y, 1, 1)
         PTO_SPACE(S) {{ PTO_AXIS(i, 0, 1) }}
         struct D {{ uint32_t i; }};
         PTO_DESCRIPTOR_GEN(S) {{ PTO_SCHEDULED_FOR(i) {{ PTO_EMIT_DESCRIPTOR(D{{ .i = i }}); }} }}
         PTO_KERNEL_IMPL(k) {{
             auto d = PTO_GET_DESCRIPTOR<D>();
             uint32_t passes = 0;
             for ({var} q = start; q < n; {head}) {{ passes += 1; {body} }}
             PTO_STORE_SCALAR(y, (float)passes, {{d.i, 0}});
         }}
         void go(Tensor<float> y) {{ PTO_LAUNCH(S, {{ .y = y }}); }}",
        var = var.0,
        end = end.0,
    );
    let (module, findings) = wsp_lang::compile("loop.pto", &source, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{findings:?}\n{source}"));
    let plan = PlanSource::from(lower(&module, &CompileOptions::default()).unwrap());
    ENGINES.map(|engine| CpuSimBackend { engine, ..CpuSimBackend::default() }.compile(&plan).unwrap())
}

/// The passes of a loop; none where it is a fault of the conversions or of the sum.
fn passes(program: &dyn Program, from: i128, to: i128) -> Option<i128> {
    let args = Args::new().with("start", ParamValue::Int(from)).with("n", ParamValue::Int(to));
    match program.execute(args, RunOptions { threads: 1, ..RunOptions::default() }) {
        Ok(done) => Some(done.outputs["y"].as_slice::<f32>().unwrap()[0] as i128),
        Err(error) => {
            let faults = error.into_diagnostics();
            assert!(faults.iter().all(|fault| [600, 602].contains(&fault.code.0)), "{faults:?}");
            None
        }
    }
}

#[test]
fn loops_that_count_mean_what_those_that_do_not_mean() {
    let (mut wrong, mut faults, mut done) = (Vec::new(), 0, 0);
    for (var, end) in TYPES.into_iter().flat_map(|var| TYPES.map(|end| (var, end))) {
        for left in [false, true] {
            let leave = if left { format!("if (passes == {LEFT}) break;") } else { String::new() };
            let counted = program(var, end, "++q", &leave);
            let other = program(var, end, "", &format!("{leave} ++q;"));
            let ((low, high), (least, most)) = (bounds(var), bounds(end));
            let starts = [low, -1, 0, high - 2, high];
            let ends = [least, -1, 0, 5, high - 1, high, high + 1, most];
            for (from, to) in starts.into_iter().flat_map(|from| ends.map(|to| (from, to))) {
                if !holds(var, from) || !holds(end, to) {
                    continue;
                }
                let Ok(expected) = model(var, end, from, to, left) else { continue };
                *(if expected.is_some() { &mut done } else { &mut faults }) += 1;
                for (at, engine) in ENGINES.into_iter().enumerate() {
                    let got = [&counted[at], &other[at]].map(|program| passes(&**program, from, to));
                    if got != [expected; 2] {
                        wrong.push(format!(
                            "{} q = {from}; q < ({}){to}; left {left}, {engine:?}: {got:?}, not {expected:?}",
                            var.0, end.0
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(faults > 30 && done > 100, "{faults} faults, {done} done");
}
