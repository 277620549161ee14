//! What arguments of runs are made of, and that their element types are those of the program.

use half::{bf16, f16};
use pto_wsp::workload::KernelRegistry;
use pto_wsp::{Arg, Args, Error, Program, RunError, RunOptions, Source, npy};

/// Doubles 4 elements of a type.
fn doubling(dtype: &str) -> Program {
    let text = format!(
        "tensor x: {dtype}[4]; tensor y: {dtype}[4]; kernel double(in x, out y); workload main {{ double(x[0..4], y[0..4]); }}"
    );
    let mut kernels = KernelRegistry::new();
    let added = match dtype {
        "f16" => kernels.register("double", |cx| {
            let x: Vec<f16> = cx.load(0)?.iter().map(|x: &f16| x + x).collect();
            cx.store(1, &x)
        }),
        _ => kernels.register("double", |cx| {
            let x: Vec<bf16> = cx.load(0)?.iter().map(|x: &bf16| x + x).collect();
            cx.store(1, &x)
        }),
    };
    added.expect("it is the first");
    Source::text("test.wsp", text).kernels(kernels).compile().unwrap_or_else(|error| panic!("{error}"))
}

fn run(dtype: &str, x: impl Into<Arg>) -> Result<Vec<u16>, Error> {
    let outcome = doubling(dtype).execute(Args::new().with("x", x), RunOptions::default())?;
    Ok(outcome.outputs["y"].as_slice::<u16>().expect("elements have 16 bits").to_vec())
}

#[test]
fn elements_of_16_bits_are_given_and_loaded_as_numbers() {
    let halves = [0.5, 1.0, -2.0, 3.25].map(f16::from_f32);
    assert_eq!(
        run("f16", halves).expect("it fits"),
        [1.0, 2.0, -4.0, 6.5].map(|x| f16::from_f32(x).to_bits()).to_vec()
    );
    let brain = [0.5, 1.0, -2.0, 3.25].map(bf16::from_f32);
    assert_eq!(
        run("bf16", brain).expect("it fits"),
        [1.0, 2.0, -4.0, 6.5].map(|x| bf16::from_f32(x).to_bits()).to_vec()
    );
}

#[test]
fn another_element_type_or_number_of_elements_is_refused_with_both() {
    let refused = |x: Arg| {
        let error = run("f16", x).expect_err("it does not fit");
        assert!(matches!(error.run(), Some(RunError::Refused(_))), "{error}");
        error.to_string()
    };
    for said in [refused(vec![0.5f32; 4].into()), refused([bf16::ONE; 4].into())] {
        assert!(said.contains("`x`") && said.contains("f16"), "{said}");
    }
    assert!(refused(vec![0.5f32; 4].into()).contains("f32"));
    assert!(refused([bf16::ONE; 4].into()).contains("bf16"));
    let short = refused([f16::ONE; 3][..].into());
    assert!(short.contains('3') && short.contains('4'), "{short}");
}

#[test]
fn an_array_of_a_npy_file_is_an_argument() {
    let header = "{'descr': '<f2', 'fortran_order': False, 'shape': (4,), }\n";
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend([1.0, 2.0, 3.0, 4.0].map(f16::from_f32).iter().flat_map(|x| x.to_le_bytes()));
    let x = npy::read("x.npy", &file).expect("it is whole");
    assert_eq!(
        run("f16", x).expect("it fits"),
        [2.0, 4.0, 6.0, 8.0].map(|x| f16::from_f32(x).to_bits()).to_vec()
    );
    let cut = npy::read("x.npy", &file[..file.len() - 1]).expect_err("a byte is missing");
    assert!(cut.message.contains("`x.npy`"), "{cut:?}");
}
