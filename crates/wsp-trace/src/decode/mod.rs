//! From the document to IR.
//!
//! Ids of the IR are read as numbers of their type and checked against their tables by the verifiers; what no verifier sees
//! (places, files, scalar parameters and views of descriptors) is checked here.

mod expr;
mod kernel;
mod names;
mod node;
mod place;
mod schedule;
mod workload;

pub(crate) use place::NOWHERE;

use crate::wire::{self, Decoded, Fault, Fields, Json, codes};
use crate::{GivenNames, KernelBody};
use place::At;
use wsp_diag::SourceMap;
use wsp_ir::workload::{Signature, WorkloadModule};

/// What a document says, before the rules of the IR are checked.
pub(crate) struct Document {
    pub(crate) workload: WorkloadModule,
    pub(crate) names: GivenNames,
    pub(crate) temporaries: Vec<bool>,
    pub(crate) bodies: Vec<KernelBody>,
}

const FORMAT: &str = "pto-wsp-trace";
const VERSION: u32 = 1;

/// Decodes a document and adds its files to `sources`.
pub(crate) fn document(bytes: &[u8], sources: &mut SourceMap) -> Decoded<Document> {
    let json = wire::parse(bytes)?;
    let mut fields = Fields::of(&json)?;
    version(&mut fields)?;
    let places = place::places(&mut fields, sources)?;
    let at = At::top(&places);
    let (mut workload, temporaries) = fields.required("workload", |json| workload::module(json, at))?;
    let bodies = fields.required("kernels", |json| bodies(json, &workload, at))?;
    fields.done()?;
    let names = names::settle(&mut workload, &temporaries);
    Ok(Document { workload, names, temporaries, bodies })
}

fn version(fields: &mut Fields<'_>) -> Decoded<()> {
    let format = fields.required("format", Json::text)?;
    if format != FORMAT {
        let message = format!("the format is {}, not {FORMAT:?}", wire::quoted(format));
        return Err(Fault::new(codes::VERSION, message).in_field("format"));
    }
    let version: u32 = fields.required("version", Json::number)?;
    if version != VERSION {
        let message = format!("version {version} of the format is not read here, only {VERSION}");
        return Err(Fault::new(codes::VERSION, message)
            .in_field("version")
            .help(Some("use a front end and a compiler of one release".to_owned())));
    }
    Ok(())
}

/// One body per kernel of the workload.
fn bodies(json: &Json<'_>, workload: &WorkloadModule, at: At<'_>) -> Decoded<Vec<KernelBody>> {
    let kernels = &workload.kernels;
    if let Json::List(list) = json
        && list.len() != kernels.len()
    {
        let message = format!("there are {} bodies for {} kernels", list.len(), kernels.len());
        return Err(Fault::new(codes::BODY, message));
    }
    let mut next = kernels.iter();
    wire::items(json, |json| {
        let Some(kernel) = next.next() else {
            return Err(json.expected("a list as long as that of kernels"));
        };
        let at = at.near(kernel.span);
        let body = kernel::body(json, &kernel.signature, at)?;
        let library = kernel.signature == Signature::Library;
        if library != matches!(body, KernelBody::Library) {
            let (is, has) =
                if library { ("of a used file", "another") } else { ("declared", "that of a library") };
            let message = format!("the kernel `{}` is {is}, and its body is {has}", kernel.name);
            return Err(Fault::new(codes::BODY, message).within(kernel.span));
        }
        Ok(body)
    })
}

#[cfg(test)]
mod tests {
    use super::place::At;
    use crate::wire::{self, codes};
    use wsp_ir::workload::DirectiveKind;

    /// What decoding `{"k": word}` says of each word that messages list.
    fn refused<'w, T>(
        words: impl Iterator<Item = &'w str>,
        read: impl Fn(At<'_>, &wire::Json<'_>) -> wire::Decoded<T>,
    ) -> Vec<&'w str> {
        let refuses = |word: &str| {
            let text = format!("{{\"k\": {word:?}}}");
            let json = wire::parse(text.as_bytes()).expect("a word is JSON");
            read(At::top(&[]), &json).is_err_and(|fault| fault.into_diagnostic().code == codes::UNKNOWN_WORD)
        };
        words.filter(|word| refuses(word)).collect()
    }

    #[test]
    fn words_that_messages_list_are_known() {
        let none: [&str; 0] = [];
        assert_eq!(refused(super::expr::FORMS.iter().copied(), |at, json| at.expr(json)), none);
        assert_eq!(refused(super::node::FORMS.iter().copied(), |at, json| at.node(json)), none);
        assert_eq!(refused(DirectiveKind::keys(), |at, json| at.directive(json)), none);
        assert_eq!(refused(super::schedule::DISPATCH.iter().copied(), |at, json| at.policy(json)), none);
        let scalars = super::kernel::SCALAR_FORMS.iter().copied();
        assert_eq!(refused(scalars, |at, json| at.scalar(json)), none);
        let statements = super::kernel::STATEMENT_FORMS.iter().chain(super::kernel::TILE_FORMS).copied();
        assert_eq!(refused(statements, |at, json| at.stmt(json)), none);
        assert_eq!(refused(["mislaid"].into_iter(), |at, json| at.expr(json)), ["mislaid"]);
    }
}
