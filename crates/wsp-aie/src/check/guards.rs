//! Locks that keep no two users of memory apart.

use super::Findings;
use super::shared::{Use, Uses};
use crate::codes;
use crate::design::Design;
use crate::design::User;
use wsp_diag::Diagnostic;

pub(super) fn check(design: &Design, uses: &Uses, findings: &mut Findings) {
    for (lock, users) in design.locks.iter().zip(&uses.locks) {
        let who = |is: &dyn Fn(&Use) -> bool| {
            users.iter().filter(|(_, of)| is(of)).map(|(user, _)| *user).collect::<Vec<User>>()
        };
        let (acquire, release) = (who(&|of| of.acquires > 0), who(&|of| of.releases > 0));
        let what = match (acquire.as_slice(), release.as_slice()) {
            ([], []) => continue,
            ([], _) => "released, and nothing acquires it".to_owned(),
            // One user that gets all that it acquires by what the lock begins with stands at it afterwards.
            ([one], []) if users[one].all.is_some_and(|all| all <= lock.init) => continue,
            (_, []) => "acquired, and nothing releases it".to_owned(),
            ([one], [other]) if one == other => format!("used by {one} alone"),
            _ => continue,
        };
        let name = lock.name.as_ref().map_or("a lock".to_owned(), |name| format!("lock `@{name}`"));
        let found = Diagnostic::warning(codes::GUARD, format!("{name} of tile {} is {what}", lock.tile));
        let help =
            "have who uses its memory next acquire what who uses it before releases, or leave the lock out";
        findings.0.push(found.at(lock.span, "").help(help));
    }
}
