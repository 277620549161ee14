//! Functions with a result: signatures, calls, and one instance per list of template arguments.

use super::Sema;
use super::body::{Binding, Body, BodyKind};
use super::codes;
use super::diags::{Reported, Res};
use super::functions::{Instance, Role};
use super::types::Head;
use crate::ast::{self, Ident, Indirection, TemplateArg};
use wsp_core::FuncId;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{
    Arg, ArrayRef, Block, Const, Expr, ExprKind as Ir, FuncKind, LocalTy, ScalarTy, Stmt, StmtKind,
};

impl Sema<'_> {
    /// The type of a helper's result.
    fn result_type(&mut self, decl: &ast::Function) -> Res<ScalarTy> {
        if decl.ret.indirection != Indirection::None {
            let d = Diagnostic::error(codes::BAD_SIGNATURE, "a function returns a number")
                .at(decl.ret.span, "not a number")
                .help("for instance `uint32_t`");
            return Err(self.fail(d));
        }
        self.scalar_type(&decl.ret)
    }

    /// Lowers one instance of a helper.
    pub(crate) fn lower_helper(&mut self, instance: &Instance) {
        let decl = self.functions[instance.function].decl;
        self.calls.extend(instance.call);
        if let Ok(ret) = self.result_type(decl) {
            let mut b = Body::new(BodyKind::Helper(ret));
            // Failure is reported where it is found.
            let _ = self
                .instance_arguments(decl, &instance.arguments)
                .and_then(|arguments| self.bind_template(&mut b, decl, &arguments));
            for param in &decl.params {
                let _ = self.helper_param(&mut b, param);
            }
            let params = b.locals.len() as u32;
            let body = self.function_body(&mut b, &decl.body);
            if !self.diags.has_errors() && !always_returns(&body) {
                let message = format!("`{}` does not return a value on every path", decl.name.as_str());
                self.bad_return(decl.name.span, &message, "end it with `return value;`");
            }
            self.finish(instance.id, FuncKind::Helper, params, b, body);
            self.module.functions[instance.id.index()].ret = Some(ret);
        }
        if instance.call.is_some() {
            self.calls.pop();
        }
    }

    fn helper_param(&mut self, b: &mut Body, param: &ast::FnParam) -> Res<()> {
        let declared = self.helper_param_type(param);
        let binding = match declared {
            Ok(ty) => {
                let local = b.local(param.name.as_str(), ty.clone(), param.name.span);
                match ty {
                    LocalTy::Array(elem) => Binding::Array(ArrayRef::Local(local), elem),
                    LocalTy::Scalar(ty) => {
                        let fixed = param.ty.is_const.then_some("it is `const`");
                        Binding::Scalar { local, ty, fixed, known: None }
                    }
                    other => unreachable!("a helper has no parameter of type {other:?}"),
                }
            }
            Err(_) => Binding::Poison,
        };
        self.check_reserved(&param.name)?;
        self.bind(b, &param.name, binding)
    }

    fn helper_param_type(&mut self, param: &ast::FnParam) -> Res<LocalTy> {
        let head = self.head(&param.ty)?;
        match (head, param.ty.indirection) {
            (Head::Scalar(elem), Indirection::Pointer) if elem.is_int() => Ok(LocalTy::Array(elem)),
            (Head::Scalar(_) | Head::Element(_), Indirection::None) => {
                self.scalar_type(&param.ty).map(LocalTy::Scalar)
            }
            (Head::Scalar(ty), Indirection::Reference) if param.ty.is_const => Ok(LocalTy::Scalar(ty)),
            _ => Err(self.fail(
                Diagnostic::error(
                    codes::BAD_SIGNATURE,
                    "a function with a result takes numbers and integer arrays",
                )
                .at(param.span, "this is something else")
                .help(
                    "pass the fields it needs; functions that return `void` may take tiles and descriptors",
                ),
            )),
        }
    }

    /// The template arguments of an instance as expressions.
    fn instance_arguments(&mut self, decl: &ast::Function, arguments: &[Const]) -> Res<Vec<Expr>> {
        let params = decl.template.iter().zip(arguments);
        params
            .map(|(param, value)| {
                let ty = self.scalar_type(&param.ty)?;
                Ok(Expr::new(Ir::Const(*value), ty, param.name.span))
            })
            .collect()
    }

    /// Binds template parameters to their values.
    pub(crate) fn bind_template(
        &mut self,
        b: &mut Body,
        decl: &ast::Function,
        arguments: &[Expr],
    ) -> Res<()> {
        for (param, value) in decl.template.iter().zip(arguments) {
            self.bind(b, &param.name, Binding::Literal(value.clone()))?;
        }
        Ok(())
    }

    /// The template arguments of a call as values that are known at launch.
    pub(crate) fn template_arguments(
        &mut self,
        b: &mut Body,
        decl: &ast::Function,
        callee: &Ident,
        args: &[TemplateArg],
    ) -> Res<Vec<Expr>> {
        if args.len() != decl.template.len() {
            let name = callee.as_str();
            let params: Vec<&str> = decl.template.iter().map(|p| p.name.as_str()).collect();
            let d = Diagnostic::error(
                codes::TEMPLATE_ARGUMENTS,
                format!("`{name}` has {} template parameters", params.len()),
            )
            .at(callee.span, format!("{} given", args.len()))
            .label(decl.name.span, "defined here");
            return Err(self.fail(match params.is_empty() {
                true => d.help(format!("write `{name}(…)`")),
                false => d.help(format!("write `{name}<{}>(…)`", params.join(", "))),
            }));
        }
        let mut values = Vec::new();
        for (param, arg) in decl.template.iter().zip(args) {
            let ty = self.scalar_type(&param.ty)?;
            values.push(match arg {
                TemplateArg::Expr(e) => self.launch_value(b, e, ty, "a template argument")?,
                TemplateArg::Type(t) => return Err(self.template_constant(t.span, "this is a type")),
            });
        }
        Ok(values)
    }

    /// The template arguments of a call of a helper, which is compiled once for each set of them.
    fn template_values(
        &mut self,
        b: &mut Body,
        decl: &ast::Function,
        callee: &Ident,
        args: &[TemplateArg],
    ) -> Res<Vec<Const>> {
        let arguments = self.template_arguments(b, decl, callee, args)?;
        let constants = arguments.into_iter().map(|value| match value.kind {
            Ir::Const(value) => Ok(value),
            _ => Err(self.template_constant(value.span, "known only at launch")),
        });
        constants.collect()
    }

    fn template_constant(&mut self, span: Span, label: &str) -> Reported {
        let d = Diagnostic::error(codes::TEMPLATE_ARGUMENTS, "a template argument must be a constant")
            .at(span, label);
        self.fail(d.help("use a literal, or a `const` made of literals; functions that return nothing also take launch values"))
    }

    /// A call of a function for its value.
    pub(crate) fn helper_call(
        &mut self,
        b: &mut Body,
        index: usize,
        callee: &Ident,
        template_args: &[TemplateArg],
        args: &[ast::Expr],
        span: Span,
    ) -> Res<Expr> {
        let decl = self.functions[index].decl;
        match self.functions[index].role {
            Role::Helper => {}
            Role::Inline => {
                let message = format!("`{}` returns nothing", callee.as_str());
                let d = Diagnostic::error(codes::TYPE_MISMATCH, message).at(span, "a value is needed here");
                return Err(self.fail(d.label(decl.name.span, "it is `void`")));
            }
            Role::Entry => return Err(self.not_here(callee, "the host entry cannot be called")),
        }
        if self.functions[index].recursive {
            return Err(Reported::earlier(&self.diags));
        }
        let values = self.template_values(b, decl, callee, template_args)?;
        let ret = self.result_type(decl)?;
        let heads = self.search_heads(b, decl, args.len(), span)?;
        self.check_arity(
            callee,
            (decl.params.len(), decl.params.len()),
            args.len() + usize::from(heads.is_some()),
            span,
        )?;
        let mut lowered = Vec::new();
        let mut rest = args.iter();
        for (at, param) in decl.params.iter().enumerate() {
            match &heads {
                Some(heads) if at == 2 => lowered.push(Ok(Arg::Scalar(heads.clone()))),
                _ => lowered.extend(rest.next().map(|e| self.helper_arg(b, param, e))),
            }
        }
        let args = lowered.into_iter().collect::<Res<Vec<Arg>>>()?;
        let id = self.instance(index, values, span);
        Ok(Expr::new(Ir::Call(id, args), ret, span))
    }

    fn helper_arg(&mut self, b: &mut Body, param: &ast::FnParam, e: &ast::Expr) -> Res<Arg> {
        match self.helper_param_type(param)? {
            LocalTy::Array(_) => {
                let (array, elem) = self.array(b, e)?;
                if self.head(&param.ty)? != Head::Scalar(elem) {
                    let d =
                        Diagnostic::error(codes::TYPE_MISMATCH, format!("an array of `{}`", elem.c_name()))
                            .at(e.span, "its elements have another type than the parameter's")
                            .label(param.span, "the parameter");
                    return Err(self.fail(d));
                }
                Ok(Arg::Array(array))
            }
            LocalTy::Scalar(ty) => self.scalar_as(b, e, ty).map(Arg::Scalar),
            other => unreachable!("a helper has no parameter of type {other:?}"),
        }
    }

    /// The function for these template arguments.
    fn instance(&mut self, index: usize, values: Vec<Const>, span: Span) -> FuncId {
        self.functions[index].called = true;
        if let Some(id) = self.functions[index].id {
            return id;
        }
        let key = (index, values.iter().map(|v| key_of(*v)).collect::<Vec<i128>>());
        if let Some(id) = self.instances.get(&key) {
            return *id;
        }
        let decl = self.functions[index].decl;
        let list: Vec<String> = values.iter().map(|v| super::consts::text(*v)).collect();
        let id =
            self.reserve_function(&format!("{}<{}>", decl.name.as_str(), list.join(", ")), decl.name.span);
        self.instances.insert(key, id);
        self.pending.push_back(Instance { function: index, id, arguments: values, call: Some(span) });
        id
    }
}

/// A template argument as a key of a table.
fn key_of(value: Const) -> i128 {
    match value {
        Const::Bool(v) => v.into(),
        Const::Int(v) => v,
        Const::Float(v) => v.to_bits().into(),
    }
}

/// Whether control never reaches the end of a block.
fn always_returns(block: &Block) -> bool {
    block.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) => true,
        StmtKind::If { then, otherwise, .. } => always_returns(then) && always_returns(otherwise),
        StmtKind::While { cond, body, .. } => cond.kind == Ir::Const(Const::Bool(true)) && !breaks(body),
        _ => false,
    })
}

/// Whether a block leaves the loop it is the body of.
fn breaks(block: &[Stmt]) -> bool {
    block.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break => true,
        StmtKind::If { then, otherwise, .. } => breaks(then) || breaks(otherwise),
        _ => false,
    })
}
