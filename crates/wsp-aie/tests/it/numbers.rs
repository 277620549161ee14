//! Numbers of cores: how they are computed, rounded, stored and loaded.

use crate::support::{design, nothing};
use wsp_aie::run::{Allocation, Arg, Failure, Machine};

/// Elements of a launch.
const COUNT: usize = 1024;

const DESIGN: &str = "module {
  aie.device(npu2) {
    %shim = aie.tile(0, 0)
    %core = aie.tile(0, 2)
    aie.objectfifo @in(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<256xFROM>>
    aie.objectfifo @out(%core, {%shim}, 2 : i32) : !aie.objectfifo<memref<256xTO>>
    %work = aie.core(%core) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c256 = arith.constant 256 : index
      %forever = arith.constant 9223372036854775807 : index
      scf.for %round = %c0 to %forever step %c1 {
        %s = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<256xFROM>>
        %a = aie.objectfifo.subview.access %s[0] : !aie.objectfifosubview<memref<256xFROM>> -> memref<256xFROM>
        %t = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<256xTO>>
        %b = aie.objectfifo.subview.access %t[0] : !aie.objectfifosubview<memref<256xTO>> -> memref<256xTO>
        scf.for %i = %c0 to %c256 step %c1 {
          %x = memref.load %a[%i] : memref<256xFROM>
          LINES
          memref.store %y, %b[%i] : memref<256xTO>
        }
        aie.objectfifo.release @in(Consume, 1)
        aie.objectfifo.release @out(Produce, 1)
      }
      aie.end
    }
    aie.runtime_sequence @sequence(%x: memref<1024xFROM>, %y: memref<1024xTO>) {
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<1024xFROM>
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @out} : memref<1024xTO>
      aiex.npu.dma_wait {symbol = @out}
    }
  }
}
";

/// What lines make of each element, `%y` of `%x`.
fn made<const FROM: usize, const TO: usize>(
    (from, to): (&str, &str),
    lines: &str,
    given: &[[u8; FROM]],
) -> Result<Vec<[u8; TO]>, Failure> {
    let text = DESIGN.replace("LINES", lines).replace("FROM", from).replace("TO", to);
    let design = design(&text);
    let mut machine = Machine::new(&design, Allocation::Lowered).expect("it is made");
    let mut all = Vec::new();
    for given in given.chunks(COUNT) {
        let mut whole = given.concat();
        whole.resize(FROM * COUNT, 0);
        let mut args = [Arg::Array(whole), Arg::Array(vec![0; TO * COUNT])];
        machine.launch(None, &mut args, &mut nothing)?;
        let Arg::Array(bytes) = &args[1] else { panic!("an array stays one") };
        all.extend(bytes.as_chunks::<TO>().0[..given.len()].iter().copied());
    }
    Ok(all)
}

/// What an operator makes of two bytes; none where the core faults.
fn of_bytes(op: &str, a: i8, b: i8) -> Option<i8> {
    let compared = op.starts_with("cmpi");
    let made_of = format!("arith.{op} %x, %k : i8");
    let lines = match compared {
        true => format!("%k = arith.constant {b} : i8\n%l = {made_of}\n%y = arith.extui %l : i1 to i8"),
        false => format!("%k = arith.constant {b} : i8\n%y = {made_of}"),
    };
    let found = made::<1, 1>(("i8", "i8"), &lines, &[a.to_le_bytes(); COUNT]);
    match found {
        Ok(found) => Some(i8::from_le_bytes(found[COUNT - 1])),
        Err(Failure::Fault(fault)) if fault.code.0 == 1861 => None,
        Err(other) => panic!("{op} {a} {b}: {other:?}"),
    }
}

#[test]
fn integers_wrap_at_their_width() {
    for (op, a, b, wanted) in [
        ("addi", 127, 1, Some(-128)),
        ("divsi", -128, -1, Some(-128)),
        ("divsi", 1, 0, None),
        ("shli", 1, 8, None),
        ("divui", -1, 2, Some(127)),
        ("cmpi ult,", 1, -1, Some(1)),
        ("cmpi slt,", 1, -1, Some(0)),
        ("remui", -1, 16, Some(15)),
        ("remui", 1, 0, None),
        ("shrui", -128, 7, Some(1)),
        ("shrui", 1, 8, None),
        ("maxui", 1, -1, Some(-1)),
        ("minui", 1, -1, Some(1)),
    ] {
        assert_eq!(of_bytes(op, a, b), wanted, "{op} {a} {b}");
    }
    for (op, wanted) in [("uitofp", 4_294_967_296.0), ("sitofp", -1.0)] {
        let lines = format!("%y = arith.{op} %x : i32 to f32");
        let found = made::<4, 4>(("i32", "f32"), &lines, &[(-1i32).to_le_bytes()]).expect("it runs");
        assert_eq!(f32::from_le_bytes(found[0]), wanted, "{op}");
    }
}

/// The value of a binary16 that is a number, by its definition.
fn half(bits: u16) -> Option<f32> {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let value = match exponent {
        0 => fraction * 2f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => return None,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    Some((if bits >> 15 == 0 { value } else { -value }) as f32)
}

#[test]
fn halves_have_their_values_and_are_rounded() {
    let all: Vec<[u8; 2]> = (0..=u16::MAX).map(u16::to_le_bytes).collect();
    let long = made::<2, 4>(("f16", "f32"), "%y = arith.extf %x : f16 to f32", &all).expect("it runs");
    for (bits, found) in (0..=u16::MAX).zip(&long) {
        let found = f32::from_le_bytes(*found);
        match half(bits) {
            Some(wanted) => assert_eq!(found.to_bits(), wanted.to_bits(), "{bits:#x}"),
            None => assert!(found.is_nan(), "{bits:#x}"),
        }
    }
    let round = "%y = arith.truncf %x : f32 to f16";
    let again = made::<4, 2>(("f32", "f16"), round, &long).expect("it runs");
    for (bits, found) in (0..=u16::MAX).zip(again).filter(|(bits, _)| half(*bits).is_some()) {
        assert_eq!(u16::from_le_bytes(found), bits);
    }
    let ties = [1.0 + 1.0 / 2048.0, 1.0 + 3.0 / 2048.0].map(f32::to_le_bytes);
    let found = made::<4, 2>(("f32", "f16"), round, &ties).expect("it runs");
    assert_eq!(found.iter().copied().map(u16::from_le_bytes).collect::<Vec<_>>(), [0x3c00, 0x3c02]);
}

#[test]
fn bfloat16_rounds_to_even() {
    let given = [1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, f32::MAX, f32::NAN].map(f32::to_le_bytes);
    let found = made::<4, 2>(("f32", "bf16"), "%y = arith.truncf %x : f32 to bf16", &given).expect("it runs");
    let found: Vec<f32> = found.iter().map(|[low, high]| f32::from_le_bytes([0, 0, *low, *high])).collect();
    assert_eq!(found[..3], [1.0, 1.0 + 4.0 / 256.0, f32::INFINITY]);
    assert!(found[3].is_nan());
    // 1 and a 256th, in bf16.
    let sum = "%k = arith.constant 1.0 : bf16\n%y = arith.addf %x, %k : bf16";
    let found = made::<2, 2>(("bf16", "bf16"), sum, &[[0x80, 0x3b]]).expect("it runs");
    assert_eq!(found[0], [0x80, 0x3f]);
}

#[test]
fn what_is_stored_is_loaded() {
    let same = |ty: &str| match ty {
        "f64" => "%k = arith.constant 0.0 : f64\n%y = arith.addf %x, %k : f64".to_owned(),
        "bf16" => "%k = arith.constant 0.0 : bf16\n%y = arith.addf %x, %k : bf16".to_owned(),
        _ => format!("%k = arith.constant 0 : {ty}\n%y = arith.addi %x, %k : {ty}"),
    };
    let given = [0.1f64.to_le_bytes(), (-2.5f64).to_le_bytes()];
    assert_eq!(made::<8, 8>(("f64", "f64"), &same("f64"), &given).expect("it runs"), given);
    let given = [[0x20, 0xc0], [0x80, 0x3f]];
    assert_eq!(made::<2, 2>(("bf16", "bf16"), &same("bf16"), &given).expect("it runs"), given);
    let given = [(-5i8).to_le_bytes(), 127i8.to_le_bytes()];
    assert_eq!(made::<1, 1>(("i8", "i8"), &same("i8"), &given).expect("it runs"), given);
    let given = [(-5i64).to_le_bytes(), i64::MAX.to_le_bytes()];
    assert_eq!(made::<8, 8>(("i64", "i64"), &same("i64"), &given).expect("it runs"), given);
}
