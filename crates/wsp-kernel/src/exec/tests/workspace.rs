//! Slots of workspace that a host lets engines remember.

use super::*;
use crate::exec::generator::GeneratorCode;
use std::collections::BTreeMap;
use wsp_core::TierSetId;
use wsp_ir::{Tier, TierSet, WsSlot};

/// Reserves as a launch does, and counts how often it is asked.
#[derive(Clone, PartialEq, Debug, Default)]
struct Reserving {
    held: BTreeMap<(u32, Vec<u32>), (u32, u32, u64)>,
    bytes: u32,
    asked: usize,
    tasks: Vec<Vec<u32>>,
}

impl GeneratorHost for Reserving {
    fn emit(&mut self, _: StructId, fields: &[u32], _: Hints<'_>) -> Result<(), Trap> {
        self.tasks.push(fields.to_vec());
        Ok(())
    }

    fn fence(&mut self) {}

    fn alloc_ws(&mut self, r: &WsRequest<'_>) -> Result<u32, Trap> {
        self.asked += 1;
        let end = self.bytes + r.count * r.slot_bytes as u32;
        let held = *self
            .held
            .entry((r.set.0, r.key.to_vec()))
            .or_insert_with(|| (std::mem::replace(&mut self.bytes, end), r.count, r.slot_bytes));
        if (held.1, held.2) != (r.count, r.slot_bytes) {
            return Err(Trap::new(wsp_diag::Code(650), "another reservation", Span::default()));
        }
        Ok(held.0 + r.index * r.slot_bytes as u32)
    }

    fn remembers_slots(&self) -> bool {
        true
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

/// Two tier sets whose tiers have slots of 64, 128 and 0 bytes.
fn with_sets(mut m: Module) -> Module {
    let tier = |bytes: u32| Tier {
        cond: None,
        kernel: FuncId(0),
        workspace: (bytes > 0).then(|| u(bytes)),
        span: at(0),
    };
    for name in ["K", "L"] {
        m.tier_sets.push(TierSet {
            name: name.to_owned(),
            selector: None,
            tiers: [64, 128, 0].map(tier).into(),
            span: at(0),
        });
    }
    m
}

fn slot(set: u32, tier: Expr, key: Vec<Expr>, count: Expr, index: Expr) -> Expr {
    let slot = WsSlot { tiers: TierSetId(set), tier, key, count, index };
    expr(ExprKind::AllocWs(Box::new(slot)), ScalarTy::U32)
}

/// What each engine does, the interpreter first.
fn on_both(m: &Module) -> Option<[(Result<(), Trap>, Reserving); 2]> {
    let env = Env::new(m, Vec::new());
    Engine::Native.is_available().then(|| {
        [Engine::Interpreter, Engine::Native].map(|engine| {
            let mut host = Reserving::default();
            let code = GeneratorCode::compile(m, FuncId(0), &env).unwrap().on(engine);
            (code.run(&env, &mut host, 1_000_000), host)
        })
    })
}

#[test]
fn a_reservation_is_asked_for_once_while_it_is_the_last_one_of_its_set() {
    let mut f = Build::generator();
    let (k, i) = (f.var("k", ScalarTy::U32), f.var("i", ScalarTy::U32));
    let key = || vec![u(7), v(k)];
    // Slots of one key, its first one again, another set, a longer key, and a tier without slots.
    let pieces = for_(i, 0, u(3), vec![emit(vec![slot(0, u(1), key(), u(3), v(i)), v(i)])]);
    let others = emit(vec![
        slot(0, u(1), key(), u(3), u(0)),
        slot(1, u(0), key(), u(2), u(1)),
        slot(0, u(0), vec![u(7), v(k), u(1)], u(1), u(0)),
        slot(1, u(2), vec![v(k)], u(9), u(8)),
    ]);
    let m = with_sets(module(vec![f.body(vec![for_(k, 0, u(20), vec![pieces, others])])]));
    let Some([(expected, mut want), (result, got)]) = on_both(&m) else { return };
    assert_eq!((&result, &expected), (&Ok(()), &Ok(())));
    assert_eq!((want.asked, got.asked), (20 * 7, 20 * 4));
    want.asked = got.asked;
    assert_eq!(got, want);
    assert_eq!(got.tasks[..4], [vec![0, 0], vec![128, 1], vec![256, 2], vec![0, 448, 512, 576]]);
}

#[test]
fn what_differs_from_the_last_reservation_goes_to_the_host() {
    let first = || slot(0, u(0), vec![u(3)], u(2), u(1));
    let cases = [
        (slot(0, u(0), vec![u(3)], u(3), u(1)), "another reservation"),
        (slot(0, u(1), vec![u(3)], u(2), u(1)), "another reservation"),
        (slot(0, u(0), vec![u(3)], u(2), u(2)), "workspace slot 2 of 2"),
        (slot(0, u(5), vec![u(3)], u(2), u(1)), "tier 5 of `K` does not exist"),
    ];
    for (second, message) in cases {
        let m =
            with_sets(module(vec![Build::generator().body(vec![emit(vec![first()]), emit(vec![second])])]));
        let Some([(expected, want), (result, got)]) = on_both(&m) else { return };
        assert_eq!((&result, &got), (&expected, &want));
        assert_eq!((result.unwrap_err().message.as_str(), got.tasks.len()), (message, 1));
    }
}

#[test]
fn each_run_asks_again() {
    let m = with_sets(module(vec![Build::generator().body(vec![emit(vec![slot(
        0,
        u(0),
        vec![u(3)],
        u(2),
        u(1),
    )])])]));
    let env = Env { engine: Engine::Native, ..Env::new(&m, Vec::new()) };
    if Engine::Native.is_available() {
        let code = GeneratorCode::compile(&m, FuncId(0), &env).unwrap();
        for bytes in [0, 1000] {
            let mut host = Reserving { bytes, ..Reserving::default() };
            code.run(&env, &mut host, 1_000).unwrap();
            assert_eq!((host.asked, host.tasks), (1, vec![vec![bytes + 64]]));
        }
    }
}
