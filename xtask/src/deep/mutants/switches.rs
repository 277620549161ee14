//! A file with several mutants, of which a program chooses one when it runs.
//!
//! The body of a function is there once more for each of its mutants: `{ if on(7) { mutant } else { body } }`.

use super::mutant::Mutant;
use crate::rust::code;
use anyhow::{Context, Result};
use std::ops::Range;

/// A mutant with its number.
pub(super) type Numbered<'a> = (usize, &'a Mutant);

/// A file with switches.
#[derive(Default)]
pub(super) struct Switched {
    pub(super) text: String,
    /// The lines of each mutant, counted from 1.
    mutants: Vec<(Range<usize>, usize)>,
    /// The lines of each function, those of its mutants included.
    functions: Vec<(Range<usize>, Vec<usize>)>,
}

/// What an error in a line is of.
#[derive(PartialEq, Debug)]
pub(super) enum Blamed<'a> {
    Mutant(usize),
    /// A function, which has these mutants.
    Function(&'a [usize]),
}

impl Switched {
    /// The file with these mutants, which lie in functions.
    pub(super) fn new(source: &str, mutants: &[Numbered]) -> Result<Switched> {
        let mut switched = Switched::default();
        let mut at = 0;
        for (body, mutants) in bodies(source, mutants)? {
            switched.text.push_str(&source[at..body.start]);
            let first = switched.line();
            switched.text.push('{');
            for (number, mutant) in &mutants {
                switched.text.push_str(&format!(" if ::wsp_switch::on({number})\n"));
                let first = switched.line();
                switched.text.push_str(&mutant.applied_in(source, body.clone())?);
                switched.mutants.push((first..switched.line() + 1, *number));
                switched.text.push_str("\nelse");
            }
            switched.text.push_str(&format!("\n{} }}", &source[body.clone()]));
            let numbers = mutants.iter().map(|(number, _)| *number).collect();
            switched.functions.push((first..switched.line() + 1, numbers));
            at = body.end;
        }
        switched.text.push_str(&source[at..]);
        Ok(switched)
    }

    /// What an error in this line is of.
    pub(super) fn blamed(&self, line: usize) -> Option<Blamed<'_>> {
        let mutant = self.mutants.iter().find(|(lines, _)| lines.contains(&line));
        mutant.map(|(_, number)| Blamed::Mutant(*number)).or_else(|| self.function(line))
    }

    /// The function of this line.
    pub(super) fn function(&self, line: usize) -> Option<Blamed<'_>> {
        let function = self.functions.iter().find(|(lines, _)| lines.contains(&line));
        function.map(|(_, numbers)| Blamed::Function(numbers))
    }

    /// The line that comes next.
    fn line(&self) -> usize {
        self.text.matches('\n').count() + 1
    }
}

/// The bodies of the functions, in braces, with the mutants in each. A function in another belongs to that one.
fn bodies<'a>(source: &str, mutants: &[Numbered<'a>]) -> Result<Vec<(Range<usize>, Vec<Numbered<'a>>)>> {
    let mut functions = Vec::new();
    for (number, mutant) in mutants {
        let function = mutant.function(source)?.with_context(|| format!("{mutant} is in no function"))?;
        functions.push((function, (*number, *mutant)));
    }
    functions.sort_by_key(|(function, (number, _))| (function.start, usize::MAX - function.end, *number));
    let code = code(source);
    let mut found: Vec<(Range<usize>, Vec<Numbered>)> = Vec::new();
    for (function, mutant) in functions {
        match found.last_mut().filter(|(body, _)| function.end <= body.end) {
            Some((_, mutants)) => mutants.push(mutant),
            None => {
                let open = code[function.clone()].find('{').context("a function should have a body")?;
                found.push((function.start + open..function.end, vec![mutant]));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "/// {\nfn a() -> u8 { 1 + 2 }\nfn b() {\n    fn c() { d() }\n    c() + 1\n}\n";

    #[test]
    fn bodies_are_repeated_for_their_mutants_and_errors_belong_to_them() -> Result<()> {
        let (a, b, c) = (((1, 1), (2, 23)), ((3, 1), (6, 2)), ((4, 5), (4, 19)));
        let mutants = [
            Mutant::listed(((5, 9), (5, 10)), Some(b), "-"),
            Mutant::listed(((2, 16), (2, 21)), Some(a), "0"),
            Mutant::listed(((2, 18), (2, 19)), Some(a), "*"),
            Mutant::listed(((4, 14), (4, 17)), Some(c), ""),
        ];
        let numbered: Vec<Numbered> = mutants.iter().enumerate().collect();
        let switched = Switched::new(SOURCE, &numbered)?;
        let want = "/// {\nfn a() -> u8 { if ::wsp_switch::on(1)\n{ 0 }\nelse if ::wsp_switch::on(2)\n{ 1 * 2 }\nelse\n{ 1 + 2 } }\n\
            fn b() { if ::wsp_switch::on(0)\n{\n    fn c() { d() }\n    c() - 1\n}\nelse if ::wsp_switch::on(3)\n\
            {\n    fn c() {  }\n    c() + 1\n}\nelse\n{\n    fn c() { d() }\n    c() + 1\n} }\n";
        assert_eq!(switched.text, want);
        let blamed: Vec<Option<Blamed>> = (1..=23).map(|line| switched.blamed(line)).collect();
        let first = || Some(Blamed::Function(&[1, 2]));
        let second = || Some(Blamed::Function(&[0, 3]));
        let mutant = |number| Some(Blamed::Mutant(number));
        assert_eq!(blamed[..7], [None, first(), mutant(1), first(), mutant(2), first(), first()]);
        assert_eq!(blamed[7..12], [second(), mutant(0), mutant(0), mutant(0), mutant(0)]);
        assert_eq!(blamed[12..17], [second(), mutant(3), mutant(3), mutant(3), mutant(3)]);
        assert_eq!(blamed[17..], [second(), second(), second(), second(), second(), None]);
        assert_eq!(switched.function(3), first());
        Ok(())
    }
}
