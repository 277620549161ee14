fn main() {
    let p = std::env::args().nth(1).unwrap();
    let t = std::fs::read_to_string(&p).unwrap();
    let mut s = wsp_ir::SourceMap::default();
    let (m, d) = wsp_lang::compile(&p, &t, &mut s);
    for d in &d { print!("{}", wsp_ir::diag::render(d, &s, false)); }
    if std::env::args().nth(2).is_some() { println!("{m:#?}"); } else { println!("module: {}", m.is_some()); }
}
