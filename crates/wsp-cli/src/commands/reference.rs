//! `--reference FILE.py`: a function in Python that computes what a program should give.
//!
//! It runs in a process of its own, called by `reference.py`: numbers of the run go there as a line of JSON and the bytes of arrays, and what it
//! gives comes back so.

use crate::interrupt;
use pto_wsp::codes;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use wsp_check::reference::{Against, Comparison, Tolerance, compare, to_f64};
use wsp_core::DType;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ordered::OrderedMap;
use wsp_plan::{Array, Arrays, ParamValue};

/// Reads arrays and parameters, calls the function, writes what it gives.
const CALLER: &str = include_str!("reference.py");
/// What starts Python, in the order in which it is tried.
const PYTHONS: [&str; 2] = ["python3", "python"];
/// The last lines that a reference prints before it ends without a result.
const MOST_LINES: usize = 8;
/// Integers below this one are numbers of f64, and no other is rounded to them.
const MOST: u64 = 1 << 53;

/// Compares outputs with what the function `reference` of a file computes from the inputs and parameters of the run.
///
/// # Errors
/// No Python, no numpy; a file without the function, one that fails; results that are no outputs, have other shapes, or are NaN.
pub(super) fn compare_with(
    file: &Path,
    inputs: &Arrays,
    outputs: &Arrays,
    params: &OrderedMap<String, ParamValue>,
) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    let (head, bytes) = called(file, &given(inputs, params)).map_err(|fault| vec![fault])?;
    let unknown = || broken(file, "what comes back from Python is not what its caller writes".to_owned());
    let tolerance = head["tolerance"].as_f64().unwrap_or(0.0);
    let listed = head["arrays"].as_array().ok_or_else(|| vec![unknown()])?;
    if listed.is_empty() {
        return Err(vec![broken(file, "`reference` gives no output".to_owned()).help(names(outputs))]);
    }
    let mut values = bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
    let (mut all, mut faults) = (Vec::new(), Vec::new());
    for one in listed {
        let name = one[0].as_str().unwrap_or_default();
        let shape: Vec<u64> = one[1].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        let wanted: Vec<f64> = values.by_ref().take(shape.iter().product::<u64>() as usize).collect();
        match compared(file, name, outputs, &shape, (&wanted, tolerance)) {
            Ok(one) => all.push(one),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(all) } else { Err(faults) }
}

/// Compares one output.
fn compared(
    file: &Path,
    name: &str,
    outputs: &Arrays,
    shape: &[u64],
    (wanted, tolerance): (&[f64], f64),
) -> Result<Comparison, Diagnostic> {
    let Some(output) = outputs.get(name) else {
        let fault = broken(file, format!("`reference` gives `{name}`, which is no output"));
        return Err(match did_you_mean(name, outputs.keys().map(String::as_str)) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.help(names(outputs)),
        });
    };
    if output.shape() != shape {
        let what = format!(
            "`reference` gives `{name}` with the shape {shape:?}, which has the shape {:?}",
            output.shape()
        );
        return Err(broken(file, what));
    }
    let index = |at: usize| wsp_backend::unravel(at as u64, shape);
    if let Some(at) = wanted.iter().position(|value| value.is_nan()) {
        return Err(broken(file, format!("`reference` gives NaN for `{name}`, first at {:?}", index(at))));
    }
    let own = Tolerance::of_itself(output.dtype(), wanted);
    let size = (wanted.iter().filter(|x| x.is_finite()).map(|x| x * x).sum::<f64>()
        / wanted.len().max(1) as f64)
        .sqrt();
    let allowed = Tolerance { abs: own.abs + tolerance * size, rel: own.rel + tolerance };
    let found = match output.dtype().is_float() {
        true => compare(name, output, wanted, allowed)?,
        false => {
            let values: Vec<f64> = integers(output).map(|number| number as f64).collect();
            if let Some(at) = values.iter().position(|value| value.abs() >= MOST as f64) {
                let what = format!("`{name}` has {} at {:?}, which f64 may not hold", values[at], index(at));
                return Err(broken(file, what));
            }
            let array = Array::of(shape, &values).map_err(|fault| broken(file, fault.to_string()))?;
            compare(name, &array, wanted, Tolerance::EXACT)?
        }
    };
    Ok(Comparison { against: Against::Reference(shown(file)), ..found })
}

/// The line of JSON and the bytes that Python is given: real numbers as f64.
fn given(inputs: &Arrays, params: &OrderedMap<String, ParamValue>) -> Vec<u8> {
    let mut arrays = Vec::new();
    let mut bytes = Vec::new();
    for (name, array) in inputs {
        match to_f64(array) {
            Some(values) => {
                arrays.push(json!([name, "<f8", array.shape()]));
                values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
            }
            None => {
                arrays.push(json!([name, integer(array.dtype()), array.shape()]));
                bytes.extend(array.bytes());
            }
        }
    }
    let value = |value: &ParamValue| match value {
        ParamValue::Int(value) => {
            i64::try_from(*value).map_or_else(|_| json!(*value as f64), |value| json!(value))
        }
        ParamValue::Float(value) => json!(value),
        ParamValue::Bool(value) => json!(value),
    };
    let params: serde_json::Map<String, Value> =
        params.iter().map(|(name, of)| (name.clone(), value(of))).collect();
    let mut all = json!({ "arrays": arrays, "params": params }).to_string().into_bytes();
    all.push(b'\n');
    all.extend(bytes);
    all
}

/// What numpy calls the integers of a type.
fn integer(dtype: DType) -> String {
    let kind = if dtype == DType::Bool {
        'b'
    } else if is_signed(dtype) {
        'i'
    } else {
        'u'
    };
    format!("<{kind}{}", dtype.size())
}

/// Whether integers of a type may be below 0.
fn is_signed(dtype: DType) -> bool {
    dtype.bounds().is_some_and(|(low, _)| low < 0)
}

/// The elements of an array of integers.
pub(super) fn integers(array: &Array) -> impl Iterator<Item = i128> {
    let signed = is_signed(array.dtype());
    let number = move |bytes: &[u8]| {
        let fill = if signed && bytes.last().is_some_and(|top| *top >= 128) { 0xFF } else { 0 };
        let mut wide = [fill; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        i128::from_le_bytes(wide)
    };
    array.bytes().chunks(array.dtype().size()).map(number)
}

/// Calls the function; the line of JSON and the bytes that it gives.
fn called(file: &Path, given: &[u8]) -> Result<(Value, Vec<u8>), Diagnostic> {
    let Output { status, stdout, stderr } = ran(file, given)?;
    let said = String::from_utf8_lossy(&stderr);
    if status.success()
        && let Some(end) = stdout.iter().position(|byte| *byte == b'\n')
        && let Ok(head) = serde_json::from_slice(&stdout[..end])
    {
        return Ok((head, stdout[end + 1..].to_vec()));
    }
    // The function may have printed before.
    let told = said.rfind("{\"kind\"").and_then(|at| serde_json::from_str::<Value>(&said[at..]).ok());
    let text = |key: &str| told.as_ref().and_then(|told| told[key].as_str()).unwrap_or_default().to_owned();
    Err(match text("kind").as_str() {
        "numpy" => broken(file, format!("Python has no numpy: {}", text("what")))
            .help("install it for the Python that `python3` starts: `python3 -m pip install numpy`"),
        "form" => broken(file, text("what"))
            .help("write `def reference(x, n): return {\"y\": …}` over the names of arrays and parameters"),
        "name" => {
            let name = text("what");
            broken(
                file,
                format!("`reference` takes `{name}`, and the run has no array and no parameter of this name"),
            )
            .note(format!("it has {}", text("detail")))
        }
        "raised" => broken(file, text("what")).note(text("detail")),
        _ => {
            let fault = broken(file, format!("Python ended with {status}"));
            let lines: Vec<&str> = said.trim().lines().collect();
            match lines[lines.len().saturating_sub(MOST_LINES)..].join("\n") {
                last if last.is_empty() => fault,
                last => fault.note(last),
            }
        }
    })
}

/// Runs Python.
fn ran(file: &Path, given: &[u8]) -> Result<Output, Diagnostic> {
    for python in PYTHONS {
        let mut command = Command::new(python);
        command.args(["-c", CALLER]).arg(file);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut child, _leftover) = match interrupt::start(&mut command) {
            Ok(started) => started,
            Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => continue,
            Err(fault) => return Err(no_python(&format!("`{python}` does not start: {fault}"))),
        };
        // One that ends before it has read everything says why.
        if let Some(mut input) = child.stdin.take() {
            input.write_all(given).ok();
        }
        return child.wait_with_output().map_err(|fault| no_python(&fault.to_string()));
    }
    Err(no_python("neither `python3` nor `python` is found"))
}

fn no_python(why: &str) -> Diagnostic {
    Diagnostic::error(codes::NO_REFERENCE, format!("`--reference` needs Python: {why}"))
        .help("install Python 3 with numpy, and have its folder in `PATH`")
}

/// What is wrong with the reference in a file.
fn broken(file: &Path, what: String) -> Diagnostic {
    Diagnostic::error(codes::NO_REFERENCE, format!("`{}`: {what}", shown(file)))
}

fn names(outputs: &Arrays) -> String {
    let names: Vec<&str> = outputs.keys().map(String::as_str).collect();
    format!("the outputs of the run are {}", names.join(", "))
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}
