//! Options for editors that mark what is best for most (AIR, recommended config values): no
//! row stands for that, and what is shown as current is what the program uses.
//!
//! Pure. Invariant: the recommended value is one that can be chosen.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::models::DEFAULT;
use super::modes;
use crate::session::options::{Category, Choice, Options};

/// The effort that is best for most.
const MEDIUM: &str = "medium";

/// What the modes come to, in words that editors know.
pub fn kinds() -> Vec<(String, String)> {
    let kinds = [
        (modes::MANUAL, "standard"),
        (modes::EDITS, "standard"),
        (modes::PLAN, "plan"),
        (modes::AUTO, "auto_review"),
        (modes::BYPASS, "full_access"),
    ];
    kinds
        .map(|(mode, kind)| (mode.to_owned(), kind.to_owned()))
        .into()
}

/// The model that the default row stands for is `stands_for`; both it and the effort are
/// named.
pub fn named(mut options: Options, stands_for: Option<&str>) -> Options {
    for choice in &mut options.0 {
        match choice.category {
            Category::Model => {
                if let Some(model) = stands_for {
                    recommend(choice, model);
                }
            }
            Category::ThoughtLevel => {
                let levels = choice.values.iter().map(|value| value.id.as_str());
                if let Some(level) = effort(levels).map(ToOwned::to_owned) {
                    recommend(choice, &level);
                }
            }
            Category::Mode | Category::Other(_) => {}
        }
    }
    options
}

/// The effort that is best among these.
pub fn effort<'a>(levels: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let levels: Vec<&str> = levels.filter(|level| *level != DEFAULT).collect();
    let medium = levels.iter().find(|level| **level == MEDIUM);
    medium.or_else(|| levels.first()).copied()
}

fn recommend(choice: &mut Choice, value: &str) {
    if choice.values.iter().all(|it| it.id != value) {
        return;
    }
    choice.values.retain(|it| it.id != DEFAULT);
    if choice.current == DEFAULT {
        choice.current = value.to_owned();
    }
    choice.marks.recommended = Some(value.to_owned());
}
