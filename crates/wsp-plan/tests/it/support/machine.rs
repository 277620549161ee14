//! A machine that runs a function statement by statement and notes what it does.

use std::collections::BTreeMap;
use wsp_core::*;
use wsp_ir::*;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Event {
    Emit {
        fields: Vec<u32>,
        affinity: Vec<(AffinityPolicy, u32)>,
        prefetch: Vec<(u32, u32, Vec<u32>)>,
        priority: Option<u32>,
    },
    Fence,
    Alloc {
        key: Vec<u32>,
        count: u32,
        index: u32,
    },
    /// A tensor element, or all bytes of a slot from this offset on.
    Touch {
        tensor: TensorId,
        written: bool,
        index: Vec<u32>,
    },
}

enum Flow {
    Next,
    Break,
    Continue,
    Return(i128),
}

pub(crate) struct Machine<'a> {
    pub(crate) module: &'a Module,
    pub(crate) params: Vec<u32>,
    pub(crate) arrays: BTreeMap<TensorId, Vec<u32>>,
    pub(crate) lengths: Vec<u32>,
    /// Cores.
    pub(crate) blocks: u32,
    pub(crate) tiles: BTreeMap<AxisId, u32>,
    pub(crate) shapes: BTreeMap<TensorId, Vec<u32>>,
    pub(crate) fields: Vec<u32>,
    pub(crate) events: Vec<Event>,
    scalars: Vec<i128>,
    named: BTreeMap<LocalId, ArrayRef>,
    valid: BTreeMap<LocalId, (u32, u32)>,
    /// What the conditions of tiers test.
    selector: Option<i128>,
    /// Extents of dynamic axes that were given as one number.
    extents: BTreeMap<AxisId, u32>,
    steps: u32,
    /// Statements and touched elements after which a run stops with an error.
    pub(crate) budget: u32,
}

type Run<T> = Result<T, String>;

impl<'a> Machine<'a> {
    pub(crate) fn new(module: &'a Module) -> Machine<'a> {
        Machine {
            module,
            params: vec![0; module.params.len()],
            arrays: BTreeMap::new(),
            lengths: vec![],
            blocks: 8,
            tiles: BTreeMap::new(),
            shapes: BTreeMap::new(),
            fields: vec![],
            events: vec![],
            scalars: vec![],
            named: BTreeMap::new(),
            valid: BTreeMap::new(),
            selector: None,
            extents: BTreeMap::new(),
            steps: 0,
            budget: 2_000_000,
        }
    }

    pub(crate) fn run(&mut self, func: FuncId) -> Run<()> {
        let f = &self.module.functions[func.index()];
        self.scalars = vec![-7_777_777; f.locals.len()];
        self.block(f, &f.body)?;
        Ok(())
    }

    pub(crate) fn emitted(&self) -> Vec<Vec<u32>> {
        self.events
            .iter()
            .filter_map(|e| match e {
                Event::Emit { fields, .. } => Some(fields.clone()),
                _ => None,
            })
            .collect()
    }

    fn block(&mut self, f: &Function, block: &Block) -> Run<Flow> {
        for stmt in block {
            match self.stmt(f, stmt)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, f: &Function, stmt: &Stmt) -> Run<Flow> {
        self.steps += 1;
        if self.steps > self.budget {
            return Err("too many steps".into());
        }
        match &stmt.kind {
            StmtKind::Let { local, init } => {
                if matches!(f.local(*local).ty, LocalTy::Tile(_)) {
                    self.valid.insert(*local, (0, 0));
                } else {
                    self.scalars[local.index()] = init.as_ref().map_or(Ok(0), |e| self.eval(e))?;
                }
            }
            StmtKind::LetArray { local, array } => {
                let array = self.array(*array);
                self.named.insert(*local, array);
            }
            StmtKind::Assign { local, value } => self.scalars[local.index()] = self.eval(value)?,
            StmtKind::If { cond, then, otherwise } => {
                let taken = if self.eval(cond)? != 0 { then } else { otherwise };
                return self.block(f, taken);
            }
            StmtKind::For { var, start, end, step, body } => {
                let (mut i, end, step) = (self.eval(start)?, self.eval(end)?, self.eval(step)?);
                if step < 1 {
                    return Err("step".into());
                }
                while i < end {
                    self.scalars[var.index()] = i;
                    match self.block(f, body)? {
                        Flow::Break => break,
                        Flow::Return(r) => return Ok(Flow::Return(r)),
                        Flow::Next | Flow::Continue => {}
                    }
                    assert_eq!(self.scalars[var.index()], i, "a loop variable changed");
                    i += step;
                }
            }
            StmtKind::While { cond, step, body } => {
                while self.eval(cond)? != 0 {
                    match self.block(f, body)? {
                        Flow::Break => break,
                        Flow::Return(r) => return Ok(Flow::Return(r)),
                        Flow::Next | Flow::Continue => {}
                    }
                    self.block(f, step)?;
                    self.steps += 1;
                    if self.steps > self.budget {
                        return Err("too many steps".into());
                    }
                }
            }
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::Return(e) => return Ok(Flow::Return(e.as_ref().map_or(Ok(0), |e| self.eval(e))?)),
            StmtKind::Emit { fields, hints, .. } => {
                let fields = self.all(fields)?;
                let affinity =
                    hints.affinity.iter().map(|(p, e)| Ok((*p, self.u32(e)?))).collect::<Run<Vec<_>>>()?;
                let prefetch = hints
                    .prefetch
                    .iter()
                    .map(|h| Ok((self.u32(&h.value)?, h.depth, self.all(&h.rest)?)))
                    .collect::<Run<Vec<_>>>()?;
                let priority = hints.priority.as_ref().map(|e| self.u32(e)).transpose()?;
                self.events.push(Event::Emit { fields, affinity, prefetch, priority });
            }
            StmtKind::Fence => self.events.push(Event::Fence),
            StmtKind::SetTile { axis, size } => {
                let size = self.u32(size)?;
                self.tiles.insert(*axis, size);
            }
            StmtKind::SetExtent { axis, extent: ExtentSource::Scalar(e), .. } => {
                let extent = self.u32(e)?;
                self.extents.insert(*axis, extent);
            }
            StmtKind::SetExtent { extent: ExtentSource::PerOuter(_), .. } => {}
            StmtKind::Tile(op) => self.tile(f, op)?,
            StmtKind::StoreScalar { tensor, index, value } => {
                let index = self.all(index)?;
                self.eval(value)?;
                self.touch(*tensor, true, index)?;
            }
            StmtKind::ScheduledFor { .. } | StmtKind::ApplySchedule(_) => panic!("a schedule is left"),
        }
        Ok(Flow::Next)
    }

    fn tile(&mut self, f: &Function, op: &TileOp) -> Run<()> {
        let cap = |m: &mut Self, t: LocalId| -> Run<(u32, u32)> {
            let LocalTy::Tile(ty) = &f.local(t).ty else { panic!("not a tile") };
            Ok((m.u32(&ty.rows)?, m.u32(&ty.cols)?))
        };
        let (dst, shape) = match op {
            TileOp::Load { dst, tensor, at, rows, cols } => {
                let index = self.all(&at.index)?;
                let (mut r, mut c) = cap(self, *dst)?;
                if let Some(e) = rows {
                    r = r.min(self.u32(e)?);
                }
                if let Some(e) = cols {
                    c = c.min(self.u32(e)?);
                }
                let extents = self.shapes[tensor].clone();
                let rest = |d: u8| extents[d as usize].saturating_sub(index[d as usize]);
                r = at.row_dim.map_or(r.min(1), |d| r.min(rest(d)));
                c = at.col_dim.map_or(c.min(1), |d| c.min(rest(d)));
                self.touch_tile(*tensor, false, &index, at, (r, c))?;
                (*dst, (r, c))
            }
            TileOp::Store { tensor, src, at, add, .. } => {
                let index = self.all(&at.index)?;
                if *add {
                    self.touch_tile(*tensor, false, &index, at, self.valid[src])?;
                }
                return self.touch_tile(*tensor, true, &index, at, self.valid[src]);
            }
            TileOp::Fill { dst, rows, cols, .. }
            | TileOp::Reshape { dst, rows, cols, .. }
            | TileOp::Random { dst, rows, cols, .. } => {
                let (mut r, mut c) = cap(self, *dst)?;
                if let Some(e) = rows {
                    r = r.min(self.u32(e)?);
                }
                if let Some(e) = cols {
                    c = c.min(self.u32(e)?);
                }
                (*dst, (r, c))
            }
            TileOp::Unary { dst, src, .. } | TileOp::Clamp { dst, src, .. } | TileOp::CumSum { dst, src } => {
                (*dst, self.valid[src])
            }
            TileOp::Gather { dst, indices, .. } => (*dst, self.valid[indices]),
            TileOp::Select { dst, mask, .. } => (*dst, self.valid[mask]),
            TileOp::Binary { dst, a, .. } => (*dst, self.valid[a]),
            TileOp::RowReduce { dst, src, .. } => (*dst, (self.valid[src].0, 1)),
            TileOp::ColReduce { dst, src, .. } => (*dst, (1, self.valid[src].1)),
            TileOp::MatMul { dst, a, b, transpose_b, .. } => {
                let b = self.valid[b];
                (*dst, (self.valid[a].0, if *transpose_b { b.0 } else { b.1 }))
            }
            TileOp::Transpose { dst, src } => (*dst, (self.valid[src].1, self.valid[src].0)),
            TileOp::Mask { .. }
            | TileOp::MaskCausal { .. }
            | TileOp::MaskBand { .. }
            | TileOp::Insert { .. } => return Ok(()),
            TileOp::Iota { dst, cols, .. } => {
                let (rows, all) = cap(self, *dst)?;
                let cols = cols.as_ref().map_or(Ok(all), |e| self.u32(e))?;
                (*dst, (rows, cols.min(all)))
            }
            TileOp::Extract { dst, src, row, col } => {
                let (room, have) = (cap(self, *dst)?, self.valid[src]);
                let (row, col) = (self.u32(row)?, self.u32(col)?);
                let left = (have.0.saturating_sub(row), have.1.saturating_sub(col));
                (*dst, (left.0.min(room.0), left.1.min(room.1)))
            }
            TileOp::TopK { values, indices, src, .. } => {
                let (rows, cols) = self.valid[src];
                for tile in [values, indices] {
                    let have = self.valid[tile].1;
                    let room = cap(self, *tile)?;
                    self.valid.insert(*tile, (rows, room.1.min(have + cols)));
                }
                return Ok(());
            }
        };
        let room = cap(self, dst)?;
        if shape.0 > room.0 || shape.1 > room.1 {
            return Err("does not fit".into());
        }
        self.valid.insert(dst, shape);
        Ok(())
    }

    fn touch_tile(
        &mut self,
        tensor: TensorId,
        written: bool,
        index: &[u32],
        at: &Place,
        size: (u32, u32),
    ) -> Run<()> {
        for r in 0..size.0 {
            for c in 0..size.1 {
                let mut index = index.to_vec();
                if let Some(d) = at.row_dim {
                    index[d as usize] += r;
                }
                if let Some(d) = at.col_dim {
                    index[d as usize] += c;
                }
                self.touch(tensor, written, index)?;
            }
        }
        Ok(())
    }

    fn touch(&mut self, tensor: TensorId, written: bool, index: Vec<u32>) -> Run<()> {
        if index.iter().zip(&self.shapes[&tensor]).any(|(i, n)| i >= n) {
            return Err("out of bounds".into());
        }
        self.steps += 1;
        self.events.push(Event::Touch { tensor, written, index });
        Ok(())
    }

    fn all(&mut self, list: &[Expr]) -> Run<Vec<u32>> {
        list.iter().map(|e| self.u32(e)).collect()
    }

    pub(crate) fn u32(&mut self, e: &Expr) -> Run<u32> {
        assert_eq!(e.ty, ScalarTy::U32, "{e:?}");
        Ok(self.eval(e)? as u32)
    }

    fn array(&self, a: ArrayRef) -> ArrayRef {
        match a {
            ArrayRef::Local(l) => self.named[&l],
            other => other,
        }
    }

    fn element(&self, a: ArrayRef, i: usize) -> Run<i128> {
        let data = match self.array(a) {
            ArrayRef::Tensor(t) => &self.arrays[&t],
            ArrayRef::Meta(_, MetaKind::Lengths) => &self.lengths,
            ArrayRef::Derived(array) => return self.derived(array, i),
            other => panic!("{other:?}"),
        };
        data.get(i).map(|v| i128::from(*v)).ok_or_else(|| "index".to_owned())
    }

    /// The definition, element by element.
    fn derived(&self, array: DerivedArray, i: usize) -> Run<i128> {
        let data = match array.of {
            LaunchArray::Tensor(t) => &self.arrays[&t],
            LaunchArray::Meta(..) => &self.lengths,
        };
        assert_eq!(array.last, None, "no test here has a window");
        let known = match array.kind {
            Derivation::Starts => data.get(..i).map(|d| d.iter().map(|v| i128::from(*v)).sum()),
            Derivation::LongestFirst => {
                let mut order: Vec<usize> = (0..data.len()).collect();
                order.sort_by_key(|i| std::cmp::Reverse(data[*i]));
                order.get(i).map(|i| *i as i128)
            }
        };
        known.ok_or_else(|| "index".to_owned())
    }

    fn length(&self, a: ArrayRef) -> i128 {
        match self.array(a) {
            ArrayRef::Tensor(t) => self.arrays[&t].len() as i128,
            ArrayRef::Derived(DerivedArray { of: LaunchArray::Tensor(t), .. }) => {
                self.arrays[&t].len() as i128
            }
            _ => self.lengths.len() as i128,
        }
    }

    /// The value of a helper function.
    fn call(&mut self, func: FuncId, args: &[Arg]) -> Run<i128> {
        let f = &self.module.functions[func.index()];
        let mut scalars = vec![-7_777_777; f.locals.len()];
        let mut named = BTreeMap::new();
        for (at, arg) in args.iter().enumerate() {
            match arg {
                Arg::Scalar(e) => scalars[at] = self.eval(e)?,
                Arg::Array(array) => drop(named.insert(LocalId(at as u32), self.array(*array))),
            }
        }
        std::mem::swap(&mut self.scalars, &mut scalars);
        std::mem::swap(&mut self.named, &mut named);
        let flow = self.block(f, &f.body);
        (self.scalars, self.named) = (scalars, named);
        match flow? {
            Flow::Return(value) => Ok(value),
            Flow::Next | Flow::Break | Flow::Continue => panic!("a function ends without a value"),
        }
    }

    /// The first tier whose condition holds.
    fn tier(&mut self, set: TierSetId, value: i128) -> Run<i128> {
        let outer = self.selector.replace(value);
        for (tier, at) in self.module.tier_sets[set.index()].tiers.iter().zip(0..) {
            let holds = tier.cond.as_ref().map_or(Ok(1), |cond| self.eval(cond))? != 0;
            if holds {
                self.selector = outer;
                return Ok(at);
            }
        }
        Err("no tier".into())
    }

    fn extent(&mut self, axis: AxisId) -> Run<i128> {
        let declared = &self.module.axes[axis.index()];
        match &declared.end {
            AxisEnd::Expr(end) => Ok((self.eval(end)? - self.eval(&declared.start)?).max(0)),
            AxisEnd::Dynamic => Ok(self.extents.get(&axis).copied().ok_or("extent")?.into()),
        }
    }

    /// Checked as the language is: a result outside of its type is an error.
    pub(crate) fn eval(&mut self, e: &Expr) -> Run<i128> {
        let value = match &e.kind {
            ExprKind::Const(Const::Int(i)) => *i,
            ExprKind::Const(Const::Bool(b)) => i128::from(*b),
            ExprKind::Const(Const::Float(_)) => 0,
            ExprKind::Param(p) => i128::from(self.params[p.index()]),
            ExprKind::Local(l) => {
                let value = self.scalars[l.index()];
                assert_ne!(value, -7_777_777, "variable {l:?} is read before it is set");
                value
            }
            ExprKind::Field(_, i) => i128::from(self.fields[*i as usize]),
            ExprKind::Unary(UnOp::Not, a) => i128::from(self.eval(a)? == 0),
            ExprKind::Unary(UnOp::Neg, a) => -self.eval(a)?,
            ExprKind::Cast(a) => self.eval(a)?,
            ExprKind::Select(c, a, b) => {
                if self.eval(c)? != 0 {
                    self.eval(a)?
                } else {
                    self.eval(b)?
                }
            }
            ExprKind::Binary(op, a, b) => {
                let x = self.eval(a)?;
                match op {
                    BinOp::And if x == 0 => 0,
                    BinOp::Or if x != 0 => 1,
                    _ => arithmetic(*op, x, self.eval(b)?)?,
                }
            }
            ExprKind::Chain(first, rest) => {
                let mut value = self.eval(first)?;
                for (op, operand) in rest {
                    value = fitting(arithmetic(*op, value, self.eval(operand)?)?, e.ty)?;
                }
                value
            }
            ExprKind::Load(a, i) => {
                let i = self.u32(i)?;
                self.element(*a, i as usize)?
            }
            ExprKind::ArrayLen(a) => self.length(*a),
            ExprKind::ArrayMax(a, n) => {
                let first = 0..self.u32(n)? as usize;
                first.map(|i| self.element(*a, i)).collect::<Run<Vec<_>>>()?.into_iter().max().unwrap_or(0)
            }
            ExprKind::ArraySum(a, n) => {
                let first = 0..self.u32(n)? as usize;
                first.map(|i| self.element(*a, i)).sum::<Run<i128>>()?
            }
            ExprKind::Call(func, args) => self.call(*func, args)?,
            ExprKind::SelectTier(set, value) => {
                let value = self.eval(value)?;
                self.tier(*set, value)?
            }
            ExprKind::Selector => self.selector.expect("conditions of tiers alone test a value"),
            ExprKind::AxisExtent(axis) => self.extent(*axis)?,
            ExprKind::ItemBegin(_) | ExprKind::ItemEnd(_) | ExprKind::ItemCount(_) => {
                panic!("a schedule is left")
            }
            // Real numbers are all 0 here: no test looks at them.
            ExprKind::Math(_, a) => {
                self.eval(a)?;
                0
            }
            ExprKind::TileMax(_) | ExprKind::TileSum(_) => 0,
            ExprKind::MaxBlocks => i128::from(self.blocks),
            ExprKind::AxisTile(a) => i128::from(self.tiles[a]),
            ExprKind::TileRows(t) => i128::from(self.valid[t].0),
            ExprKind::TileCols(t) => i128::from(self.valid[t].1),
            ExprKind::AllocWs(slot) => {
                let key = self.all(&slot.key)?;
                let (count, index) = (self.u32(&slot.count)?, self.u32(&slot.index)?);
                self.events.push(Event::Alloc { key, count, index });
                0
            }
            ExprKind::LoadScalar(t, index) => {
                let index = self.all(index)?;
                self.touch(*t, false, index)?;
                0
            }
        };
        fitting(value, e.ty)
    }
}

/// The value, if it is one of the type.
fn fitting(value: i128, ty: ScalarTy) -> Run<i128> {
    let fits = match ty {
        ScalarTy::U32 => u32::try_from(value).is_ok(),
        ScalarTy::I32 => i32::try_from(value).is_ok(),
        ScalarTy::U64 => u64::try_from(value).is_ok(),
        ScalarTy::I64 => i64::try_from(value).is_ok(),
        _ => true,
    };
    if fits { Ok(value) } else { Err(format!("{value} is not a {}", ty.name())) }
}

fn arithmetic(op: BinOp, x: i128, y: i128) -> Run<i128> {
    let zero = || "division by zero".to_owned();
    Ok(match op {
        BinOp::Add => x + y,
        BinOp::Sub => x - y,
        BinOp::Mul => x * y,
        BinOp::Div => x.checked_div(y).ok_or_else(zero)?,
        BinOp::Rem => x.checked_rem(y).ok_or_else(zero)?,
        BinOp::CeilDiv => (x + y - 1).checked_div(y).ok_or_else(zero)?,
        BinOp::Min => x.min(y),
        BinOp::Max => x.max(y),
        BinOp::Lt => i128::from(x < y),
        BinOp::Le => i128::from(x <= y),
        BinOp::Gt => i128::from(x > y),
        BinOp::Ge => i128::from(x >= y),
        BinOp::Eq => i128::from(x == y),
        BinOp::Ne => i128::from(x != y),
        BinOp::And | BinOp::Or => i128::from(y != 0),
        BinOp::BitAnd => x & y,
        BinOp::BitOr => x | y,
        BinOp::BitXor => x ^ y,
        BinOp::Shr => x >> y.min(100),
        BinOp::Shl => x.checked_shl(u32::try_from(y).map_err(|e| e.to_string())?).ok_or_else(zero)?,
    })
}
