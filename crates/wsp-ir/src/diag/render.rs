//! The one place where diagnostics become text.

use super::Diagnostic;
use crate::SourceMap;

/// Plain text of one diagnostic.
pub fn render(diagnostic: &Diagnostic, sources: &SourceMap, color: bool) -> String {
    let _ = (sources, color);
    format!("{}: {}\n", diagnostic.code, diagnostic.message)
}

/// JSON of one diagnostic.
pub fn to_json(diagnostic: &Diagnostic, sources: &SourceMap) -> serde_json::Value {
    let _ = sources;
    serde_json::json!({ "code": diagnostic.code.to_string(), "message": diagnostic.message })
}
