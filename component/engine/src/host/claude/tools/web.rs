//! WebFetch and WebSearch.
//!
//! Pure. Invariant: of what was found, the card shows titles and addresses, never the
//! instructions to the model around them.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use super::blocks::Content;
use super::fields::Fields;
use super::{Ending, Look};
use crate::projection::{Shown, ToolKind};

/// A page is read, with a question about it.
pub fn fetch(input: &Fields<'_>) -> Look {
    let url = input.some("url");
    Look {
        title: url.map_or("Fetch".into(), |url| format!("Fetch {url}")),
        kind: ToolKind::Fetch,
        content: input.some("prompt").map(Shown::Text).into_iter().collect(),
        places: None,
    }
}

/// The web is searched.
pub fn search(input: &Fields<'_>) -> Look {
    let query = input.some("query");
    Look {
        title: query.map_or("Web search".into(), |query| format!("Search \"{query}\"")),
        kind: ToolKind::Fetch,
        content: Vec::new(),
        places: None,
    }
}

/// What a search found.
pub fn found(content: &Content<'_>, structured: Option<&RawValue>) -> Ending {
    let results = structured.map(Fields::of);
    let results = results.and_then(|found| found.list("results"));
    let mut lines: Vec<String> = Vec::new();
    for result in results.unwrap_or_default() {
        if let Ok(text) = serde_json::from_str::<String>(result.get()) {
            lines.push(text);
            continue;
        }
        for page in Fields::of(result).list("content").unwrap_or_default() {
            let page = Fields::of(page);
            match (page.some("title"), page.some("url")) {
                (Some(title), Some(url)) => lines.push(format!("{title} ({url})")),
                (title, url) => lines.extend(title.or(url)),
            }
        }
    }
    let content = match lines.is_empty() {
        true => content.shown(str::to_owned),
        false => Some(vec![Shown::Text(lines.join("\n"))]),
    };
    Ending {
        title: None,
        content,
    }
}
