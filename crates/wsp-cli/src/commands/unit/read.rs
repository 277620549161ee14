//! Reads units: texts, and bytes with the text that they come from, where that lies beside them and is still the same.

use crate::commands::Session;
use crate::commands::kind::Kind;
use crate::files::{read_unit_bytes, read_unit_text};
use std::path::{Path, PathBuf};
use wsp_core::tg::crc::crc32;
use wsp_core::tg::read::Ptog;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::tg::{TgModule, verify};
use wsp_isa::tg::binary::{Source, decode, encode_with_source};
use wsp_isa::tg::text::parse;

impl Session {
    /// Reads a unit in either form; prints the warnings of its text.
    pub(super) fn read_unit(&mut self, path: &Path, kind: Kind) -> Result<TgModule, Vec<Diagnostic>> {
        if kind == Kind::UnitBytes {
            return self.read_binary(path);
        }
        let text = read_unit_text(path).map_err(|fault| vec![fault])?;
        self.parse_unit(&path.display().to_string(), &text)
    }

    /// Reads a unit that keeps the rules; prints warnings.
    pub(super) fn read_verified(&mut self, path: &Path, kind: Kind) -> Result<TgModule, Vec<Diagnostic>> {
        let module = self.read_unit(path, kind)?;
        self.verified(module)
    }

    /// The bytes of a unit that keeps the rules, with a note of the text that it comes from.
    pub(super) fn unit_bytes(&mut self, path: &Path, kind: Kind) -> Result<Vec<u8>, Vec<Diagnostic>> {
        if kind == Kind::UnitBytes {
            let module = self.read_verified(path, kind)?;
            return wsp_isa::tg::binary::encode(&module).map_err(|fault| vec![fault]);
        }
        let text = read_unit_text(path).map_err(|fault| vec![fault])?;
        let name = path.display().to_string();
        let module = self.parse_unit(&name, &text)?;
        let module = self.verified(module)?;
        let base = path.file_name().map_or(name, |base| base.to_string_lossy().into_owned());
        encode_with_source(&module, Source { name: &base, text: &text }).map_err(|fault| vec![fault])
    }

    fn parse_unit(&mut self, name: &str, text: &str) -> Result<TgModule, Vec<Diagnostic>> {
        let (module, found) = parse(name, text, &mut self.sources);
        let Some(module) = module else { return Err(found) };
        self.warn(&found);
        Ok(module)
    }

    fn verified(&self, module: TgModule) -> Result<TgModule, Vec<Diagnostic>> {
        let found = verify(&module);
        if found.iter().any(Diagnostic::is_error) {
            return Err(found);
        }
        self.warn(&found);
        Ok(module)
    }

    fn read_binary(&mut self, path: &Path) -> Result<TgModule, Vec<Diagnostic>> {
        let name = path.display().to_string();
        let bytes = read_unit_bytes(path).map_err(|fault| vec![fault])?;
        let mut module = decode(&name, &bytes)?;
        match source_of(path, &bytes) {
            Some((source, text)) => {
                let file = self.sources.add(source.display().to_string(), text);
                place_all(&mut module, |span| Span { file, ..span });
            }
            None => {
                module.spans.clear();
                // Without a text, declarations stand at the beginning of a file without lines.
                let file = self.sources.add(name, "");
                place_all(&mut module, |_| Span::new(file, 0, 0));
            }
        }
        Ok(module)
    }
}

/// The text that bytes come from, if it lies beside them and nobody has changed it since.
fn source_of(path: &Path, bytes: &[u8]) -> Option<(PathBuf, String)> {
    let unit = Ptog::read(bytes).ok()?;
    let debug = unit.debug?;
    let source = path.with_file_name(Path::new(debug.source).file_name()?);
    let length = std::fs::metadata(&source).ok().filter(|m| m.is_file())?.len();
    if length != u64::from(debug.header.source_bytes.get()) {
        return None;
    }
    let text = read_unit_text(&source).ok()?;
    (crc32(text.as_bytes()) == debug.header.source_crc32.get()).then_some((source, text))
}

/// Changes every place of a unit.
fn place_all(module: &mut TgModule, place: impl Fn(Span) -> Span) {
    let spans = module
        .spans
        .iter_mut()
        .chain(module.uses.iter_mut().map(|u| &mut u.span))
        .chain(module.externs.iter_mut().map(|e| &mut e.span))
        .chain(module.extern_events.iter_mut().map(|(_, span)| span))
        .chain(module.args.iter_mut().map(|a| &mut a.span))
        .chain(module.references.iter_mut().map(|r| &mut r.span));
    spans.for_each(|span| *span = place(*span));
}
