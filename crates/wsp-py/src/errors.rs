//! From diagnostics to exceptions of `pto_wsp.errors`.

use crate::sources::{Told, in_given_names};
use pto_wsp::catalog::{self, CodeInfo};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::Value;
use std::collections::BTreeMap;
use wsp_diag::{Code, Diagnostic, FileId, SourceMap, Span};
pub(crate) use wsp_trace::python::arrays::IN_USE;

/// The module that defines the exceptions.
const ERRORS: &str = "pto_wsp.errors";
/// Lines that a made-up text has at most, in place of a source that cannot be read.
const MOST_LINES: u32 = 1 << 20;

/// A place as Python gives it: file, first line from 1, first column, last line, end column; columns from 0 in UTF-8
/// bytes, the end exclusive.
type Place = (String, u32, u32, u32, u32);

/// The exception for these findings, of which one at least is an error.
pub(crate) fn exception(py: Python<'_>, faults: &[Diagnostic], sources: &impl Told) -> PyErr {
    caused(py, faults, sources, None)
}

/// The exception for these findings, the first of which a Python kernel caused by raising `cause`.
pub(crate) fn caused(
    py: Python<'_>,
    faults: &[Diagnostic],
    sources: &impl Told,
    cause: Option<&PyErr>,
) -> PyErr {
    let build = || -> PyResult<PyErr> {
        let mut sorted: Vec<&Diagnostic> = faults.iter().collect();
        sorted.sort_by_key(|d| (d.primary.is_none(), d.primary.as_ref().map(|l| l.span), d.severity, d.code));
        let records: Vec<_> = sorted.iter().map(|d| record(py, d, sources)).collect::<PyResult<_>>()?;
        let records = PyList::new(py, records)?;
        let cause = cause.map(|cause| cause.clone_ref(py).into_value(py));
        Ok(PyErr::from_value(py.import(ERRORS)?.getattr("from_diagnostics")?.call1((records, cause))?))
    };
    build().unwrap_or_else(|failure| failure)
}

/// The exception for one finding without a source.
pub(crate) fn fault(py: Python<'_>, fault: Diagnostic) -> PyErr {
    exception(py, &[fault], &SourceMap::default())
}

/// The error of something that one thread at a time may use.
pub(crate) fn occupied(py: Python<'_>, message: &str, help: &str) -> PyErr {
    fault(py, Diagnostic::error(IN_USE, message).help(help))
}

/// A finding as Python sees it: what [`wsp_diag::to_json`] gives, and its text under `rendered`.
pub(crate) fn record<'py>(
    py: Python<'py>,
    diagnostic: &Diagnostic,
    sources: &impl Told,
) -> PyResult<Bound<'py, PyAny>> {
    let diagnostic = in_given_names(diagnostic.clone().in_python(), sources.given());
    let sources = sources.map();
    let record = python(py, &wsp_diag::to_json(&diagnostic, sources))?;
    record.set_item("rendered", wsp_diag::render(&diagnostic, sources, false).trim_end())?;
    Ok(record)
}

/// A JSON value as Python's.
pub(crate) fn python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => value.into_pyobject(py)?.into_any(),
            (_, Some(value)) => value.into_pyobject(py)?.into_any(),
            _ => number.as_f64().unwrap_or(f64::NAN).into_pyobject(py)?.into_any(),
        },
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Array(values) => {
            let values = values.iter().map(|v| python(py, v)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, values)?.into_any()
        }
        Value::Object(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(key, python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

/// One finding of the Python front end as a record with its text, in the same form as those of the compiler.
///
/// `sources` has the text of each file that a place names; the text of a source that cannot be read is empty.
#[pyfunction]
#[pyo3(signature = (code, message, *, span=None, label=String::new(), labels=Vec::new(), notes=Vec::new(),
                    help=Vec::new(), sources=BTreeMap::new()))]
#[expect(clippy::too_many_arguments, reason = "Python names each of them")]
pub(crate) fn render<'py>(
    py: Python<'py>,
    code: u16,
    message: String,
    span: Option<Place>,
    label: String,
    labels: Vec<(Place, String)>,
    notes: Vec<String>,
    help: Vec<String>,
    sources: BTreeMap<String, String>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut files = Files { map: SourceMap::default(), ids: BTreeMap::new(), texts: sources };
    let mut diagnostic = Diagnostic::error(Code(code), message);
    if let Some(place) = span {
        diagnostic = diagnostic.at(files.span(&place), label);
    }
    for (place, text) in labels {
        diagnostic = diagnostic.label(files.span(&place), text);
    }
    diagnostic.notes = notes;
    diagnostic.help = help;
    record(py, &diagnostic, &files.map)
}

/// What a code means and what to do, as `wsp explain` prints it.
#[pyfunction]
pub(crate) fn explain(code: u16) -> Option<String> {
    catalog::lookup(Code(code)).map(CodeInfo::page)
}

/// The files that places name.
struct Files {
    map: SourceMap,
    ids: BTreeMap<String, FileId>,
    texts: BTreeMap<String, String>,
}

impl Files {
    fn span(&mut self, (name, line, column, end_line, end_column): &Place) -> Span {
        let id = match self.ids.get(name) {
            Some(id) => *id,
            None => {
                let text = self.texts.get(name).filter(|text| !text.is_empty()).cloned();
                // The place keeps its line also when nobody knows what stands there.
                let text =
                    text.unwrap_or_else(|| "\n".repeat((*end_line.max(line)).min(MOST_LINES) as usize));
                let id = self.map.add(name.clone(), text);
                self.ids.insert(name.clone(), id);
                id
            }
        };
        let text = self.map.file(id).map_or("", |file| &file.text);
        let start = offset(text, *line, *column);
        Span::new(id, start, offset(text, *end_line, *end_column).max(start))
    }
}

/// Where a column of a line begins: in bytes from the start of the text, at most at the end of the line.
fn offset(text: &str, line: u32, column: u32) -> u32 {
    let before = line.saturating_sub(1) as usize;
    let lines = text.split_inclusive('\n');
    let start: usize = lines.clone().take(before).map(str::len).sum();
    let length = lines.clone().nth(before).map_or(0, |line| line.trim_end_matches(['\n', '\r']).len());
    u32::try_from(start + length.min(column as usize)).unwrap_or(u32::MAX)
}
