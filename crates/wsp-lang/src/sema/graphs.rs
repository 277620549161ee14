//! `PTO_GRAPH` and `PTO_REFERENCE`.

use super::Sema;
use super::body::{Body, BodyKind};
use super::codes;
use super::diags::Res;
use super::names::{Symbol, with_suggestion};
use crate::ast::{self, Ident};
use wsp_core::TensorId;
use wsp_diag::Diagnostic;
use wsp_ir::{DependencyRef, EntryParam, Reference, Stage};

impl Sema<'_> {
    /// Lowers every graph.
    pub(crate) fn lower_graphs(&mut self) {
        for at in 0..self.graphs.len() {
            let decl = self.graphs[at];
            for stage in &decl.stages {
                if let Ok(stage) = self.stage(decl, stage) {
                    self.module.graphs[at].stages.push(stage);
                }
            }
            if self.module.graphs[at].stages.len() != decl.stages.len() {
                // Stages are wrong, so indices of stages would be too.
                continue;
            }
            for dependency in &decl.dependencies {
                let reader = self.stage_ref(at, decl, &dependency.reader);
                let writer = self.stage_ref(at, decl, &dependency.writer);
                if let (Ok(reader), Ok(writer)) = (reader, writer) {
                    self.module.graphs[at].dependencies.push((reader, writer));
                }
            }
        }
    }

    fn stage(&mut self, graph: &ast::Graph, stage: &ast::Stage) -> Res<Stage> {
        let first = graph.stages.iter().find(|s| s.name.name == stage.name.name);
        if let Some(first) = first.filter(|s| s.name.span != stage.name.span) {
            return Err(self.redefined(stage.name.as_str(), stage.name.span, first.name.span));
        }
        let space =
            self.expect_symbol(&stage.space, "a space", codes::UNKNOWN_SPACE, |symbol| match symbol {
                Symbol::Space(id) => Some(id),
                _ => None,
            })?;
        Ok(Stage { name: stage.name.name.to_string(), space, span: stage.span })
    }

    fn stage_ref(&mut self, at: usize, graph: &ast::Graph, side: &ast::StageRef) -> Res<DependencyRef> {
        let name = side.stage.as_str();
        let Some(stage) = self.module.graphs[at].stages.iter().position(|s| s.name == name) else {
            let near = self.suggest(name, graph.stages.iter().map(|s| s.name.as_str()));
            let d = Diagnostic::error(
                codes::UNKNOWN_STAGE,
                format!("graph `{}` has no stage `{name}`", graph.name.as_str()),
            )
            .at(side.stage.span, "unknown stage");
            return Err(self.fail(with_suggestion(d, near)));
        };
        let tensor = self.tensor_or_keys(&side.tensor)?;
        Ok(DependencyRef { stage: stage as u32, tensor })
    }

    /// A tensor by its name, `cache.k`, `cache.v`; a cache means its keys.
    fn tensor_or_keys(&mut self, ident: &Ident) -> Res<TensorId> {
        let (base, part) = match ident.as_str().split_once('.') {
            Some((base, part)) => (base, Some(part)),
            None => (ident.as_str(), None),
        };
        if let Some(Symbol::Cache(id)) = self.lookup(base).map(|n| n.symbol) {
            let cache = &self.module.caches[id.index()];
            match part {
                None | Some("k") => return Ok(cache.keys),
                Some("v") => return Ok(cache.values),
                Some(_) => return Err(self.unknown_tensor(ident.as_str(), ident.span)),
            }
        }
        let b = Body::new(BodyKind::Launch("a dependency"));
        self.tensor_named(&b, ident)
    }

    /// Lowers every reference; `params` are those of the entry.
    pub(crate) fn lower_references(&mut self, params: Option<&[EntryParam]>) {
        for at in 0..self.references.len() {
            let decl = self.references[at];
            let mut roles: Vec<(String, String)> = Vec::new();
            for role in &decl.roles {
                let name = role.value.as_str();
                if let Some(earlier) = decl.roles.iter().find(|r| r.role.name == role.role.name)
                    && earlier.role.span != role.role.span
                {
                    let message = format!("role `{}` is given twice", role.role.as_str());
                    self.fail(
                        Diagnostic::error(codes::DUPLICATE_BINDING, message)
                            .at(role.role.span, "again here")
                            .label(earlier.role.span, "first here"),
                    );
                    continue;
                }
                if self.is_role_value(name, params) {
                    roles.push((role.role.name.to_string(), name.to_owned()));
                } else {
                    let entry = params.into_iter().flatten().map(|p| p.name.as_str());
                    let own = self.module.params.iter().map(|p| p.name.as_str());
                    let near = self.suggest(name, entry.chain(own));
                    let d = Diagnostic::error(codes::UNKNOWN_NAME, format!("unknown name `{name}`"))
                        .at(role.value.span, "neither a parameter of the entry nor one of the file");
                    self.fail(with_suggestion(d, near));
                }
            }
            let name = decl.name.name.to_string();
            self.module.references.push(Reference { name, roles, span: decl.span });
        }
    }

    fn is_role_value(&self, name: &str, params: Option<&[EntryParam]>) -> bool {
        let of_file = self.module.param_named(name).is_some();
        match params {
            Some(params) => of_file || params.iter().any(|p| p.name == name),
            // A library's arrays are known by the names of their shapes.
            None => of_file || self.shapes.iter().any(|s| s.decl.name.as_str() == name),
        }
    }
}
