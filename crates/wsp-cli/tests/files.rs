//! Archives and arrays on disk: what is written is read back, and damage is a diagnostic.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking and makes its own files"
)]

use std::path::Path;
use wsp_cli::files::{Npz, read_inputs, read_npy, read_source, take_bits_as_floats, write_npz};
use wsp_core::DType;
use wsp_plan::{Array, Arrays};

fn sample() -> Arrays {
    let mut arrays = Arrays::new();
    for dtype in DType::ALL {
        let mut array = Array::zeros(dtype, &[2, 3]).unwrap();
        for (i, b) in array.bytes_mut().iter_mut().enumerate() {
            *b = i as u8;
        }
        arrays.insert(format!("x.{dtype}"), array);
    }
    arrays.insert("scalar".to_owned(), Array::zeros(DType::F64, &[]).unwrap());
    arrays.insert("empty".to_owned(), Array::zeros(DType::F32, &[0, 7]).unwrap());
    arrays
}

fn all(_: &str) -> bool {
    true
}

fn messages(result: Result<Arrays, Vec<wsp_ir::diag::Diagnostic>>) -> Vec<String> {
    result.unwrap_err().iter().map(|d| format!("{} {}", d.code, d.message)).collect()
}

#[test]
fn what_is_written_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npz");
    let arrays = sample();
    write_npz(&path, &arrays).unwrap();
    let mut read = read_inputs(Some(&path), &[], &all).unwrap();
    assert_eq!(read["x.bf16"].dtype(), DType::U16);
    take_bits_as_floats(&mut read, ["x.bf16", "x.f8e4m3", "x.f32", "absent"]);
    assert_eq!(arrays.len(), read.len());
    for (name, array) in &arrays {
        assert_eq!(array.shape(), read[name].shape(), "{name}");
        assert_eq!(array.bytes(), read[name].bytes(), "{name}");
        assert_eq!(array.dtype(), read[name].dtype(), "{name}");
    }
}

#[test]
fn only_wanted_entries_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npz");
    write_npz(&path, &sample()).unwrap();
    let read = read_inputs(Some(&path), &[], &|name| name == "empty").unwrap();
    assert_eq!(read.keys().collect::<Vec<_>>(), ["empty"]);
}

#[test]
fn every_fault_names_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("text.npy"), "not an array").unwrap();
    std::fs::write(at("real.npz"), "PK but no archive").unwrap();
    let single = |name: &str, file: &str| (name.to_owned(), at(file));
    let faults = messages(read_inputs(
        Some(&at("real.npz")),
        &[single("a", "text.npy"), single("b", "txet.npy"), single("c", ""), single("a", "text.npy")],
        &all,
    ));
    let shown = |name: &str| at(name).display().to_string();
    assert_eq!(
        faults,
        [
            "WSP0510 array `a` is given twice".to_owned(),
            format!("WSP0502 `{}` is not a whole `.npz` archive", shown("real.npz")),
            format!("WSP0504 `{}` is not in numpy's `.npy` format", shown("text.npy")),
            format!("WSP0500 there is no file `{}`", shown("txet.npy")),
            format!("WSP0501 `{}` is a directory", shown("")),
            format!("WSP0504 `{}` is not in numpy's `.npy` format", shown("text.npy")),
        ]
    );
    let help = read_npy(&at("txet.npy")).unwrap_err().help;
    assert_eq!(help, [format!("did you mean `{}`?", shown("text.npy"))]);
}

#[test]
fn every_cut_or_flipped_byte_of_an_archive_is_a_diagnostic_or_reads_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npz");
    let mut arrays = sample();
    arrays.retain(|name, _| name == "x.f32");
    write_npz(&path, &arrays).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let damaged = dir.path().join("b.npz");
    for end in 0..whole.len() {
        std::fs::write(&damaged, &whole[..end]).unwrap();
        assert!(read_inputs(Some(&damaged), &[], &all).is_err(), "cut at {end}");
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x41;
        std::fs::write(&damaged, &bytes).unwrap();
        if let Ok(read) = read_inputs(Some(&damaged), &[], &all)
            && let Some(array) = read.get("x.f32")
        {
            assert_eq!(array.bytes(), arrays["x.f32"].bytes(), "flipped at {at}");
        }
    }
}

#[test]
fn archives_of_numpy_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/decode_cases/01_mha_basic.npz");
    let mut npz = Npz::open(&path).unwrap();
    assert_eq!(npz.read("kv_lens").unwrap().as_slice::<i32>().unwrap(), [1, 17, 128]);
    assert_eq!(npz.text("meta_dtype").unwrap(), "f16");
    let fault = npz.read("kv_len").unwrap_err();
    assert_eq!(fault.help, ["did you mean `kv_lens`?"]);
    assert!(npz.read("meta_dtype").unwrap_err().message.contains("`U3`"));
}

#[test]
fn source_must_be_text_of_moderate_length() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pto");
    std::fs::write(&path, b"ok\nb\xffd").unwrap();
    let fault = read_source(&path).unwrap_err();
    assert_eq!(fault.notes, ["byte 4, in line 2, belongs to no character"]);
    std::fs::write(&path, vec![b' '; (4 << 20) + 1]).unwrap();
    assert!(read_source(&path).unwrap_err().message.ends_with("is too long for a source file"));
    std::fs::write(&path, "fine").unwrap();
    assert_eq!(read_source(&path).unwrap(), "fine");
}
