//! Random programs: compiled code does what the interpreter does, up to the last step and note.

use super::*;
use crate::exec::compile::{Compiler, Role};
use crate::{CodeCache, CodeStatistics, FlatBuffer, FlatEvent, IntArray};
use proptest::prelude::*;
use wsp_ir::Arg;
use wsp_memory::{Form, Reader};

const U32: ScalarTy = ScalarTy::U32;
const TYPES: [ScalarTy; 4] = [ScalarTy::U32, ScalarTy::I32, ScalarTy::U64, ScalarTy::I64];

/// Where random choices come from.
struct Choices(u64);

impl Choices {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// A function under construction: two variables of each type, and loop variables.
struct Random<'c> {
    c: &'c mut Choices,
    f: Build,
    vars: Vec<(LocalId, ScalarTy)>,
    array: Option<LocalId>,
    /// Functions that may be called.
    helpers: u32,
    loops: u32,
    emits: bool,
}

impl Random<'_> {
    fn variable(&mut self, ty: ScalarTy) -> LocalId {
        let fitting: Vec<LocalId> = self.vars.iter().filter(|v| v.1 == ty).map(|v| v.0).collect();
        fitting[self.c.below(fitting.len() as u64) as usize]
    }

    fn array(&mut self) -> ArrayRef {
        match (self.array, self.c.below(3)) {
            (Some(array), 0 | 1) => ArrayRef::Local(array),
            (_, n) => ArrayRef::Tensor(TensorId(n as u32)),
        }
    }

    fn expr(&mut self, ty: ScalarTy, depth: u32) -> Expr {
        if depth == 0 || self.c.below(6) == 0 {
            return match self.c.below(3) {
                0 => int(
                    ty,
                    i128::from(
                        [0, 1, 2, 3, 5, 7, 64, 1_000_000, i32::MAX]
                            [self.c.below(if depth == 0 { 7 } else { 9 }) as usize],
                    ),
                ),
                _ => {
                    let id = self.variable(ty);
                    local(id, ty)
                }
            };
        }
        match self.c.below(11) {
            0 => {
                let from = TYPES[self.c.below(4) as usize];
                cast(ty, self.expr(from, depth - 1))
            }
            1 => {
                let test = self.test(depth - 1);
                let (a, b) = (self.expr(ty, depth - 1), self.expr(ty, depth - 1));
                expr(ExprKind::Select(Box::new(test), Box::new(a), Box::new(b)), ty)
            }
            2 | 3 => {
                let (array, mut index) = (self.array(), self.expr(U32, depth - 1));
                if self.c.below(16) > 0 {
                    index = op(BinOp::Rem, index, u(5));
                }
                expr(ExprKind::Load(array, Box::new(index)), ty)
            }
            4 => {
                let (array, of) = (self.array(), u(self.c.below(7) as u32));
                let kind = match self.c.below(3) {
                    0 => ExprKind::ArrayMax(array, Box::new(of)),
                    1 => ExprKind::ArraySum(array, Box::new(of)),
                    _ => ExprKind::ArrayLen(array),
                };
                let len = matches!(kind, ExprKind::ArrayLen(_));
                cast(ty, expr(kind, if len { U32 } else { ScalarTy::U64 }))
            }
            5 if self.helpers > 0 => {
                let func = FuncId(1 + self.c.below(u64::from(self.helpers)) as u32);
                let args = vec![Arg::Array(self.array()), Arg::Scalar(self.expr(U32, depth - 1))];
                cast(ty, expr(ExprKind::Call(func, args), U32))
            }
            _ => {
                // Most programs should get somewhere before they stop.
                let safe = [BinOp::Min, BinOp::Max, BinOp::BitAnd, BinOp::Add];
                let risky = [
                    BinOp::Sub,
                    BinOp::Mul,
                    BinOp::Div,
                    BinOp::Rem,
                    BinOp::CeilDiv,
                    BinOp::BitXor,
                    BinOp::Shl,
                    BinOp::Shr,
                ];
                let o = if self.c.below(8) > 0 {
                    safe[self.c.below(4) as usize]
                } else {
                    risky[self.c.below(8) as usize]
                };
                op(o, self.expr(ty, depth - 1), self.expr(ty, depth - 1))
            }
        }
    }

    fn test(&mut self, depth: u32) -> Expr {
        let ty = TYPES[self.c.below(4) as usize];
        let all = [BinOp::Lt, BinOp::Le, BinOp::Gt, BinOp::Ge, BinOp::Eq, BinOp::Ne];
        let o = all[self.c.below(6) as usize];
        op(o, self.expr(ty, depth), self.expr(ty, depth))
    }

    fn block(&mut self, depth: u32) -> Vec<Stmt> {
        (0..1 + self.c.below(4)).map(|_| self.stmt(depth)).collect()
    }

    fn stmt(&mut self, depth: u32) -> Stmt {
        match self.c.below(if depth == 0 { 5 } else { 10 }) {
            3 if self.loops > 0 => {
                let leave = if self.c.below(2) == 0 { StmtKind::Break } else { StmtKind::Continue };
                if_(self.test(1), vec![stmt(leave)])
            }
            4 | 5 if self.emits => {
                let fields = (0..self.c.below(5)).map(|_| self.expr(U32, 1)).collect();
                emit(fields)
            }
            6 => if_(self.test(1), self.block(depth - 1)),
            7 => {
                let (then, otherwise) = (self.block(depth - 1), self.block(depth - 1));
                stmt(StmtKind::If { cond: self.test(1), then, otherwise })
            }
            8 | 9 => self.counted(depth),
            _ => {
                let ty = TYPES[self.c.below(4) as usize];
                let id = self.variable(ty);
                set(id, self.expr(ty, 3))
            }
        }
    }

    fn counted(&mut self, depth: u32) -> Stmt {
        let ty = TYPES[self.c.below(4) as usize];
        let var = self.f.var("i", ty);
        let (mut start, mut end) = (self.expr(ty, 0), self.expr(ty, 0));
        if self.c.below(4) > 0 {
            (start, end) = (int(ty, 0), int(ty, i128::from(self.c.below(12))));
        }
        let step = if self.c.below(3) == 0 { self.expr(ty, 0) } else { int(ty, 1) };
        self.loops += 1;
        self.vars.push((var, ty));
        let mut body = self.block(depth - 1);
        if self.emits {
            body.push(emit(vec![cast(U32, local(var, ty)), u(3)]));
        }
        self.loops -= 1;
        stmt(StmtKind::For { var, start, end, step, body })
    }

    fn function(mut self, ret: Option<ScalarTy>) -> Function {
        for ty in TYPES {
            for _ in 0..2 {
                let id = self.f.var("v", ty);
                self.vars.push((id, ty));
            }
        }
        let mut body: Vec<Stmt> = Vec::new();
        for (id, ty) in self.vars.clone() {
            let first = i128::from(self.c.below(5));
            body.push(let_(id, int(ty, first)));
        }
        body.extend(self.block(3));
        body.extend(self.block(2));
        if self.emits {
            let again = self.counted(2);
            body.extend([emit(vec![u(1)]), again]);
        }
        if let Some(ty) = ret {
            body.push(return_(self.expr(ty, 2)));
        }
        self.f.body(body)
    }
}

/// A generator as function 0 and two helpers, the first of which may be called by the second.
fn program(seed: u64) -> (Module, Env) {
    let mut c = Choices(seed);
    let mut helpers = Vec::new();
    for number in 0..2 {
        let mut f = Build::helper(U32);
        let array = f.param("array", LocalTy::Array(U32));
        let n = f.param("n", LocalTy::Scalar(U32));
        let random = Random {
            c: &mut c,
            f,
            vars: Vec::new(),
            array: Some(array),
            helpers: number,
            loops: 0,
            emits: false,
        };
        let mut function = random.function(Some(U32));
        // The parameter is one of the variables from here on.
        function.body.push(return_(v(n)));
        helpers.push(function);
    }
    let f = Build::generator();
    let random = Random { c: &mut c, f, vars: Vec::new(), array: None, helpers: 2, loops: 0, emits: true };
    let mut functions = vec![random.function(None)];
    functions.extend(helpers);
    let mut m = module(functions);
    for name in ["a", "b", "c"] {
        add_tensor(&mut m, name, &[8]);
    }
    let mut env = Env::new(&m, Vec::new());
    env.arrays[0] = Some(IntArray::U32((0..8).collect()));
    env.arrays[1] = Some(IntArray::I32([5, 6, 7, 0, -1, 3].into()));
    env.arrays[2] = Some(IntArray::U64([4, 1, 2, 3, 1 << 40].into()));
    (m, env)
}

/// A host that keeps tasks in a buffer.
struct Keeper {
    flat: FlatBuffer,
    panics: bool,
}

impl GeneratorHost for Keeper {
    fn emit(&mut self, descriptor: StructId, fields: &[u32], hints: Hints<'_>) -> Result<(), Trap> {
        self.flat
            .emit(descriptor, fields, hints)
            .map_err(|_| Trap::new(wsp_diag::Code(650), "no more", Span::default()))
    }

    fn flat(&mut self) -> Option<&mut FlatBuffer> {
        Some(&mut self.flat)
    }

    fn fence(&mut self) {
        assert!(!self.panics, "the host has had enough");
        self.flat.fence();
    }

    fn alloc_ws(&mut self, r: &WsRequest<'_>) -> Result<u32, Trap> {
        Ok(r.index)
    }

    fn set_tile(&mut self, _: AxisId, _: u32) -> Result<(), Trap> {
        Ok(())
    }

    fn set_extent(&mut self, _: AxisId, _: Extent<'_>) -> Result<(), Trap> {
        Ok(())
    }

    fn axis_tile(&mut self, _: AxisId) -> Result<u32, Trap> {
        Ok(1)
    }

    fn axis_extent(&mut self, _: AxisId) -> Result<u32, Trap> {
        Ok(1)
    }

    fn cancelled(&self) -> bool {
        false
    }
}

fn kept(flat: &FlatBuffer) -> Vec<(u32, Vec<u32>)> {
    let event = |event| match event {
        FlatEvent::Task { site, fields, .. } => (site.descriptor().0, fields.to_vec()),
        FlatEvent::Fence => (u32::MAX, Vec::new()),
    };
    flat.events().map(event).collect()
}

/// What a run leaves: its outcome, its steps, its tasks.
type Left = (Result<(), Trap>, u64, Vec<(u32, Vec<u32>)>);

fn run_on(engine: Engine, m: &Module, env: &Env, limit: u64, flat: FlatBuffer) -> Left {
    let mut compiler = Compiler::new(m, env, Role::Generator);
    compiler.entry(FuncId(0)).expect("the program should be well-formed");
    let code = Runnable::new(compiler.into_program(), env).expect("any engine takes it").on(engine);
    let (mut slots, mut buffers) = (Vec::new(), Buffers::default());
    let frame = crate::exec::vm::frame(&mut slots, code.program().entry());
    let mut host = Keeper { flat, panics: false };
    let mut vm = Vm::new(code.program(), env, &mut buffers, limit);
    vm.host = Some(&mut host);
    let result = code.run(&mut vm, frame).map(drop);
    let steps = vm.steps;
    (result, steps, kept(&host.flat))
}

const FORM: Form = Form { magic: *b"code", version: 1, name: "code" };

/// What another process has of this code.
fn reread(code: &CodeCache) -> CodeCache {
    let (bytes, read) = (FORM.write(|out| code.write(out)), CodeCache::default());
    FORM.read(&bytes, |input| read.read(input)).expect("what is written should be read");
    read
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_do_the_same_on_both_engines(seed: u64, limit in 1u64..20_000, capacity in 0usize..40) {
        if Engine::Native.is_available() {
            let (m, env) = program(seed);
            let flat = || if capacity == 0 { FlatBuffer::growing(usize::MAX) } else { FlatBuffer::fixed(capacity, 4).unwrap() };
            let want = run_on(Engine::Interpreter, &m, &env, limit, flat());
            let got = run_on(Engine::Native, &m, &env, limit, flat());
            prop_assert_eq!(&got, &want);
            let code = reread(&env.code);
            let kept = run_on(Engine::Native, &m, &Env { code: code.clone(), ..env }, limit, flat());
            prop_assert_eq!(&kept, &want);
            prop_assert_eq!(code.statistics(), CodeStatistics { taken: 1, compiled: 0 });
        }
    }
}

#[test]
fn random_programs_trap_and_end_and_emit() {
    let outcomes: Vec<Left> = (0..1000)
        .map(|seed| {
            let (m, env) = program(seed);
            run_on(Engine::Interpreter, &m, &env, 20_000, FlatBuffer::growing(usize::MAX))
        })
        .collect();
    let count = |f: &dyn Fn(&Left) -> bool| outcomes.iter().filter(|left| f(left)).count();
    let codes: std::collections::BTreeSet<u16> =
        outcomes.iter().filter_map(|left| left.0.as_ref().err()).map(|trap| trap.code.0).collect();
    assert!(count(&|left| left.0.is_ok()) >= 20, "{} end", count(&|left| left.0.is_ok()));
    assert!(count(&|left| left.2.len() > 10) >= 10, "{} emit", count(&|left| left.2.len() > 10));
    assert!(count(&|left| left.0.as_ref().is_err_and(|trap| !trap.notes.is_empty())) >= 5);
    // Overflow, division by zero, conversions, shifts, array bounds, loop steps.
    assert!([600, 601, 602, 603, 604, 605].iter().all(|code| codes.contains(code)), "{codes:?}");
}

/// A generator that emits `count` tasks, then a fence.
fn counting(count: u32) -> Module {
    let mut f = Build::generator();
    let i = f.var("i", U32);
    let body = vec![for_(i, 0, u(count), vec![emit(vec![v(i), u(7)])]), stmt(StmtKind::Fence)];
    module(vec![f.body(body)])
}

#[test]
fn a_panic_of_the_host_goes_round_compiled_code() {
    let m = counting(3);
    let mut env = Env::new(&m, Vec::new());
    for engine in [Engine::Interpreter, Engine::Native].into_iter().filter(|engine| engine.is_available()) {
        env.engine = engine;
        let code = GeneratorCode::compile(&m, FuncId(0), &env).unwrap();
        let mut host = Keeper { flat: FlatBuffer::growing(usize::MAX), panics: true };
        let run = std::panic::AssertUnwindSafe(|| code.run(&env, &mut host, 1_000));
        let payload = std::panic::catch_unwind(run).expect_err("the host should panic");
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"the host has had enough"));
        assert_eq!(host.flat.words(), [0, 7, 1, 7, 2, 7]);
        host.panics = false;
        code.run(&env, &mut host, 1_000).unwrap();
        assert_eq!(host.flat.len(), 6);
    }
}

#[test]
fn code_is_compiled_when_launches_together_have_run_for_long_and_kept_for_the_next() {
    if !Engine::Native.is_available() {
        return;
    }
    let m = counting(8_000);
    let cache = crate::CodeCache::default();
    let launch = |m: &Module| {
        let mut env = Env::new(m, Vec::new());
        env.code = cache.clone();
        let code = GeneratorCode::compile(m, FuncId(0), &env).unwrap();
        let mut host = Keeper { flat: FlatBuffer::growing(usize::MAX), panics: false };
        code.run(&env, &mut host, 1_000_000).unwrap();
        assert_eq!(host.flat.words()[..6], [0, 7, 1, 7, 2, 7]);
        assert_eq!(host.flat.len(), 8_000);
    };
    launch(&m);
    launch(&m);
    assert_eq!(cache.counts(), (1, 0));
    launch(&m);
    assert_eq!(cache.counts(), (1, 1));
    launch(&m);
    let other = counting(7);
    GeneratorCode::compile(&other, FuncId(0), &Env { code: cache.clone(), ..Env::new(&other, Vec::new()) })
        .unwrap();
    assert_eq!(cache.counts(), (2, 1));
}

/// Runs a generator of so many tasks with the code that is there.
fn launch(count: u32, engine: Engine, code: &CodeCache) -> Vec<(u32, Vec<u32>)> {
    let m = counting(count);
    let env = Env { engine, code: code.clone(), ..Env::new(&m, Vec::new()) };
    let generator = GeneratorCode::compile(&m, FuncId(0), &env).unwrap();
    let mut host = Keeper { flat: FlatBuffer::growing(usize::MAX), panics: false };
    generator.run(&env, &mut host, 1_000_000).unwrap();
    kept(&host.flat)
}

#[test]
fn all_code_of_this_process_is_kept_and_the_newest_of_what_it_did_not_ask_for() {
    if !Engine::Native.is_available() {
        return;
    }
    let launch_all = |code: &CodeCache| {
        for count in 0..70 {
            launch(count, Engine::Native, code);
        }
        code.statistics()
    };
    let first = CodeCache::default();
    assert_eq!(launch_all(&first), CodeStatistics { taken: 0, compiled: 70 });
    let second = reread(&first);
    assert_eq!(launch_all(&second), CodeStatistics { taken: 70, compiled: 0 });
    let third = reread(&second);
    launch(100, Engine::Native, &third);
    assert_eq!(launch_all(&reread(&third)), CodeStatistics { taken: 64, compiled: 6 });
}

#[test]
fn programs_that_go_for_room_stay_counted() {
    if !Engine::Native.is_available() {
        return;
    }
    let code = CodeCache::default();
    launch(1, Engine::Native, &code);
    for count in 2..600 {
        launch(count, Engine::Interpreter, &code);
    }
    assert_eq!(code.counts(), (512, 0));
    assert_eq!(code.statistics(), CodeStatistics { taken: 0, compiled: 1 });
}

#[test]
fn code_that_was_kept_runs_from_the_first_step_on_and_is_kept_with_what_comes_beside_it() {
    if !Engine::Native.is_available() {
        return;
    }
    let first = CodeCache::default();
    launch(5, Engine::Native, &first);
    launch(9, Engine::Native, &first);
    let second = reread(&first);
    assert_eq!(second.statistics(), CodeStatistics::default());
    assert_eq!(launch(9, Engine::Auto, &second), launch(9, Engine::Interpreter, &CodeCache::default()));
    assert_eq!(second.statistics(), CodeStatistics { taken: 1, compiled: 0 });
    launch(7, Engine::Native, &second);
    // What was not asked for is kept too.
    let third = reread(&second);
    for count in [5, 7, 9] {
        launch(count, Engine::Native, &third);
    }
    assert_eq!(third.statistics(), CodeStatistics { taken: 3, compiled: 0 });
}

#[test]
fn code_whose_parts_do_not_fit_is_not_taken() {
    if !Engine::Native.is_available() {
        return;
    }
    let (m, env) = program(3);
    let _ = run_on(Engine::Native, &m, &env, 1000, FlatBuffer::growing(usize::MAX));
    let bytes = FORM.write(|out| env.code.write(out));
    let body = &bytes[20..];
    let read = |body: &[u8]| {
        let bytes = FORM.write(|out| body.chunks(4).for_each(|word| out.u32(word_of(word))));
        FORM.read(&bytes, |input: &mut Reader<'_>| CodeCache::default().read(input))
    };
    let whole = body.len() / 4 * 4;
    for cut in (0..whole.min(4000)).step_by(4) {
        assert!(read(&body[..cut]).is_err(), "cut to {cut}");
        // The checksum is right, so that the reader is asked: it ends, and nothing runs.
        let mut other = body.to_vec();
        other[cut..cut + 4].fill(0xff);
        let _ = read(&other);
    }
}

fn word_of(bytes: &[u8]) -> u32 {
    let mut word = [0; 4];
    word[..bytes.len()].copy_from_slice(bytes);
    u32::from_le_bytes(word)
}

#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::disallowed_methods, reason = "the system tells of this process's memory in a file")]
fn the_memory_of_compiled_code_is_given_back() {
    if !Engine::Native.is_available() {
        return;
    }
    let maps = || {
        let text = std::fs::read_to_string("/proc/self/maps").expect("this process has maps");
        text.lines().filter(|line| line.contains("r-xp")).count()
    };
    let m = counting(3);
    let before = maps();
    for _ in 0..200 {
        let env = Env { engine: Engine::Native, ..Env::new(&m, Vec::new()) };
        GeneratorCode::compile(&m, FuncId(0), &env).unwrap();
    }
    // Other tests compile beside this one.
    assert!(maps() < before + 100, "{before} before, {} after", maps());
}
