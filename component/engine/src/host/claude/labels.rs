//! What is remembered of a permission, in a few words (Claude adapter, section 10).
//!
//! Pure. Invariant: what cannot be said in words has no label, and so is not offered.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::choices::About;
use super::updates::{Rule, Update};

/// Longer lists of commands are not read.
const LIST: usize = 50;

/// Of a shell's commands and folders.
pub fn shell(tool: &str, bundle: &[Update<'_>]) -> Option<String> {
    let content = |rule: &Rule<'_>| {
        rule.rule_content
            .as_deref()
            .map(str::trim)
            .map(ToOwned::to_owned)
    };
    let sayable = |update: &Update<'_>| {
        if update.adds_folders() {
            return update.of_session();
        }
        let mut rules = update.rules.iter();
        update.allows()
            && rules.all(|rule| {
                (rule.tool_name == tool || rule.tool_name == "Read") && rule.rule_content.is_some()
            })
    };
    if !bundle.iter().all(sayable) {
        return None;
    }
    let rules = || {
        let allowing = bundle.iter().filter(|update| update.allows());
        allowing.flat_map(|update| update.rules.iter())
    };
    let read: Vec<String> = rules()
        .filter(|rule| rule.tool_name == "Read")
        .filter_map(content)
        .map(|path| {
            path.strip_suffix("/**")
                .map(ToOwned::to_owned)
                .unwrap_or(path)
        })
        .filter(|path| !path.is_empty())
        .collect();
    let mut commands: Vec<String> = Vec::new();
    for command in rules()
        .filter(|rule| rule.tool_name == tool)
        .filter_map(content)
    {
        let command = command.strip_suffix(":*").unwrap_or(&command).to_owned();
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    let adding = bundle.iter().filter(|update| update.adds_folders());
    let folders: Vec<String> = adding
        .flat_map(|update| update.directories.iter().map(ToString::to_string))
        .collect();
    let all: Vec<String> = folders.iter().chain(&read).cloned().collect();
    Some(
        match (folders.is_empty(), read.is_empty(), commands.is_empty()) {
            (true, true, true) => return None,
            (true, false, true) => {
                format!("Yes, allow reading from {} from this project", paths(&read))
            }
            (_, _, true) => {
                let paths = paths(&all);
                format!("Yes, and always allow access to {paths} from this project")
            }
            (true, true, false) => {
                format!("Yes, and don't ask again for {} commands", list(&commands))
            }
            _ if all.len() == 1 && commands.len() == 1 => {
                let (paths, commands) = (paths(&all), list(&commands));
                format!("Yes, and allow access to {paths} and {commands} commands")
            }
            _ => {
                let (paths, commands) = (paths(&all), list(&commands));
                format!("Yes, and allow {paths} access and {commands} commands")
            }
        },
    )
}

/// Of files that are read or written.
pub fn files(
    bundle: &[Update<'_>],
    path: Option<&str>,
    writes: bool,
    about: &About<'_>,
) -> Option<String> {
    let tool = if writes { "Edit" } else { "Read" };
    let sayable = |update: &Update<'_>| {
        update.of_session()
            && match &*update.kind {
                "setMode" => writes && update.mode == "acceptEdits",
                "addDirectories" => writes,
                _ => update.allows() && update.rules.iter().all(|rule| rule.tool_name == tool),
            }
    };
    if !bundle.iter().all(sayable) {
        return None;
    }
    let rules = || bundle.iter().flat_map(|update| update.rules.iter());
    let whole = rules().any(|rule| rule.rule_content.is_none());
    let edits = writes && bundle.iter().any(|update| update.kind == "setMode");
    let during = if writes {
        "Yes, allow all edits during this session"
    } else {
        "Yes, during this session"
    };
    let Some(path) = path.map(|path| resolve(about.cwd, path)) else {
        return (whole || edits).then(|| during.to_owned());
    };
    let own = [Some(about.cwd), about.home]
        .into_iter()
        .flatten()
        .any(|folder| inside(&resolve(folder, ".claude"), &path));
    let own = own && writes;
    let folders = bundle.iter().flat_map(|update| update.directories.iter());
    let contents = rules().filter_map(|rule| rule.rule_content.as_deref());
    let covered = folders
        .map(|folder| resolve(about.cwd, folder))
        .chain(contents.map(|content| {
            let content = content.trim();
            let folder = content.strip_suffix("/**").unwrap_or(content);
            resolve(about.cwd, folder)
        }))
        .any(|folder| inside(&folder, &path));
    if !covered && !whole && (own || !edits) {
        return None;
    }
    if own && rules().next().is_some() {
        return Some("Yes, and allow Claude to edit its own settings for this session".to_owned());
    }
    if inside(about.cwd, &path) {
        return Some(during.to_owned());
    }
    let folder = path.rsplit('/').nth(1).filter(|it| !it.is_empty());
    let folder = folder.unwrap_or("this directory");
    Some(if writes {
        format!("Yes, allow all edits in {folder}/ during this session")
    } else {
        format!("Yes, allow reading from {folder}/ during this session")
    })
}

fn list(words: &[String]) -> String {
    if words.join(", ").encode_utf16().count() > LIST {
        return "similar".to_owned();
    }
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [one, two] => format!("{one} and {two}"),
        [most @ .., last] => format!("{}, and {last}", most.join(", ")),
    }
}

/// Folders by as few of their last names as tell them apart.
fn paths(all: &[String]) -> String {
    let mut known: Vec<String> = Vec::new();
    for path in all {
        let path = resolve("/", path);
        if !known.contains(&path) {
            known.push(path);
        }
    }
    let end = |path: &str, depth: usize| -> String {
        let names: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
        names[names.len().saturating_sub(depth)..].join("/")
    };
    let short = |path: &String| {
        let depths = path.split('/').count();
        let unlike = |depth: &usize| {
            let mut others = known.iter().filter(|other| *other != path);
            others.all(|other| end(other, *depth) != end(path, *depth))
        };
        let name = (1..depths)
            .find(unlike)
            .map_or_else(|| path.clone(), |it| end(path, it));
        if name.ends_with('/') {
            name
        } else {
            format!("{name}/")
        }
    };
    let names: Vec<String> = known.iter().map(short).collect();
    match names.as_slice() {
        [one, two, rest @ ..] if !rest.is_empty() => {
            format!("{one}, {two} and {} more", rest.len())
        }
        _ => list(&names),
    }
}

/// An absolute path without detours.
fn resolve(folder: &str, path: &str) -> String {
    let whole = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{folder}/{path}")
    };
    let mut names: Vec<&str> = Vec::new();
    for name in whole.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

fn inside(folder: &str, path: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
