//! Arrays of the caller that a session reads and writes where they lie.

use super::common::{
    all, inputs, integers, kernels, refusal, session, session_with, signature, threads, values,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wsp_core::tg::Direction;
use wsp_cpu::tg::{Session, SessionOptions};
use wsp_memory::View;

const DOUBLE: &str = "extern X: i64[8]\nextern Y: i64[8]\nTG_BEGIN(G)\nTG_KERNEL(A, double, 2, AIV, 0)\nMC_BIND(A, 0, X)\nMC_BIND(A, 1, Y)\nTG_END(G)";

fn lent(values: &[i64]) -> View {
    integers(values).lend().expect("it can be lent")
}

fn with(views: &[(&str, &View)]) -> SessionOptions {
    let views: BTreeMap<String, View> =
        views.iter().map(|(name, view)| ((*name).to_owned(), (*view).clone())).collect();
    SessionOptions { views, ..threads(2) }
}

#[test]
fn arrays_of_the_caller_are_read_and_written_where_they_lie() {
    let mut kernels = kernels();
    let seen: [Arc<AtomicUsize>; 2] = Default::default();
    let addresses = seen.clone();
    kernels.replace("double", signature(&[Direction::In, Direction::Out]), move |cx| {
        for (n, seen) in addresses.iter().enumerate() {
            seen.store(cx.arg(n)?.range.ptr().addr(), Ordering::Relaxed);
        }
        let doubled: Vec<i64> = cx.load::<i64>(0)?.iter().map(|value| 2 * value).collect();
        cx.store(1, 0, &doubled)
    });
    let (x, y) = (integers(&[1, 2, 3, 4, 5, 6, 7, 8]), integers(&[0; 8]));
    let places = [&x, &y].map(|array| array.bytes().as_ptr().addr());
    let (x, y) = (x.lend().expect("it can be lent"), y.lend().expect("it can be lent"));
    let mut session = session_with(DOUBLE, &kernels, with(&[("X", &x), ("Y", &y)]));
    session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(seen.map(|seen| seen.load(Ordering::Relaxed)), places);
    assert!(session.outputs().expect("nothing runs").is_empty(), "the caller has it already");
    assert_eq!(session.written_in_place(), ["Y"]);
    assert_eq!(values(&session, "Y"), [2, 4, 6, 8, 10, 12, 14, 16]);
    let y = y.take_back().expect_err("the session has it");
    drop(session);
    let y = y.take_back().expect("no run has it");
    assert_eq!(y.bytes().as_ptr().addr(), places[1]);
    assert_eq!(y.as_slice::<i64>(), Some(&[2, 4, 6, 8, 10, 12, 14, 16][..]));
}

#[test]
fn an_array_of_the_caller_and_a_copy_give_the_same_bits() {
    let text = "extern X: i64[8]\nTG_BEGIN(G)\nMC_ALLOC(T, 64)\nTG_KERNEL(A, double, 2, AIV, 0)\nMC_BIND(A, 0, X)\nMC_BIND(A, 1, T)\nTG_KERNEL(B, copy, 1, AIV, 0)\nMC_BIND(B, 0, T)\nMC_BIND(B, 1, X)\nTG_DEPEND(A, B, DATA, T)\nTG_END(G)";
    let start = [3, 1, 4, 1, 5, 9, 2, 6];
    let mut copied = session(text, SessionOptions { inputs: inputs(&[("X", &start)]), ..threads(2) });
    copied.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    let x = lent(&start);
    let mut in_place = session(text, with(&[("X", &x)]));
    in_place.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&in_place, "X"), values(&copied, "X"));
    in_place.set_tensor("X", &integers(&[7; 8])).expect("it may be written");
    drop(in_place);
    assert_eq!(x.take_back().expect("no run has it").as_slice::<i64>(), Some(&[7; 8][..]));
}

#[test]
fn what_cannot_be_used_where_it_lies_is_refused_with_a_reason() {
    let (x, y) = (lent(&[1; 8]), lent(&[0; 8]));
    let said = |views: &[(&str, &View)]| all(&refusal(DOUBLE, with(views)));
    let shared = said(&[("X", &x), ("Y", &x)]);
    assert!(shared.contains("WSP0871") && shared.contains("`X` and `Y` share memory"), "{shared}");
    let read_only = y.clone().read_only();
    let refused = said(&[("X", &x), ("Y", &read_only)]);
    assert!(refused.contains("WSP0870") && refused.contains("`Y` may only be read"), "{refused}");
    let wide = lent(&[0; 16]);
    let every_second =
        View::new(wide.buffer().clone(), 0, wide.dtype(), &[8], &[16]).expect("it lies inside");
    let gaps = said(&[("X", &every_second), ("Y", &y)]);
    assert!(gaps.contains("without gaps") && gaps.contains("[16]"), "{gaps}");
    assert!(said(&[("X", &wide), ("Y", &y)]).contains("[16], and the tensor [8]"));
    let far = crate::workloads::views::far(x.dtype(), &[8]);
    assert!(said(&[("X", &far), ("Y", &y)]).contains("on device 3"));
    let both = SessionOptions { inputs: inputs(&[("X", &[1; 8])]), ..with(&[("X", &x), ("Y", &y)]) };
    assert!(all(&refusal(DOUBLE, both)).contains("an array to copy and one to use in place"));
    // What is only read may be read only, and be the same memory twice.
    let text = DOUBLE.replace("extern Y: i64[8]", "extern Y: i64[8]\nextern Z: i64[8]");
    let x = x.read_only();
    let mut session = session(&text, with(&[("X", &x), ("Z", &x), ("Y", &y)]));
    let fault = session.set_tensor("X", &integers(&[1; 8])).expect_err("it may only be read");
    assert!(fault.message.contains("`X` may only be read"), "{fault:?}");
}

#[test]
fn a_session_has_the_arrays_of_its_caller_as_long_as_it_lives() {
    let (x, y, z) = (lent(&[1; 8]), lent(&[0; 8]), lent(&[0; 8]));
    let first = session(DOUBLE, with(&[("X", &x), ("Y", &y)]));
    let both_read = session(DOUBLE, with(&[("X", &x), ("Y", &z)]));
    let said = all(&refusal(DOUBLE, with(&[("X", &x), ("Y", &y)])));
    assert!(said.contains("WSP1268") && said.contains("array `Y` is in use"), "{said}");
    let said = all(&refusal(DOUBLE, with(&[("X", &z), ("Y", &lent(&[0; 8]))])));
    assert!(said.contains("writes it, as `Y`, and this one reads it"), "{said}");
    drop((first, both_read));
    let again: Session = session(DOUBLE, with(&[("X", &z), ("Y", &y)]));
    drop(again);
}
