//! What of a stored prompt the user wrote: without what the program adds to it.
//!
//! Pure. Invariant: a text without the program's marks comes out as it went in; the work is
//! linear.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;

/// What the program puts around its own words.
const MARKS: [&str; 7] = [
    "command-name",
    "command-message",
    "command-args",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "system-reminder",
];

/// Commands that run in the program itself and say nothing to the model.
const LOCAL: [&str; 24] = [
    "agents",
    "clear",
    "color",
    "compact",
    "config",
    "context",
    "cost",
    "doctor",
    "effort",
    "exit",
    "export",
    "extra-usage",
    "fast",
    "heapdump",
    "help",
    "hooks",
    "login",
    "logout",
    "mcp",
    "memory",
    "model",
    "permissions",
    "status",
    "usage",
];

/// Whether a command of this name runs in the program itself.
pub fn is_local(name: &str) -> bool {
    LOCAL.contains(&name)
}

/// Said by the program when a turn is stopped.
const STOPPED: &str = "[Request interrupted by user";

/// What the user wrote; `None` if all of it is the program's.
pub fn written(text: &str) -> Option<Cow<'_, str>> {
    if text.trim_start().starts_with(STOPPED) {
        return None;
    }
    if let Some(command) = command(text) {
        return command.filter(|it| !it.local).map(|it| it.typed.into());
    }
    let text = unmarked(text);
    (!text.trim().is_empty()).then_some(text)
}

/// A command as it was typed.
struct Typed {
    typed: String,
    local: bool,
}

/// Whether the text stands for a command, and which.
fn command(text: &str) -> Option<Option<Typed>> {
    let begun = text.trim_start();
    if !begun.starts_with("<command-name>") && !begun.starts_with("<command-message>") {
        return None;
    }
    let name = inner(text, "command-name").unwrap_or_default().trim();
    let args = inner(text, "command-args").unwrap_or_default().trim();
    let name = name.strip_prefix('/').unwrap_or(name);
    if name.is_empty() {
        return Some(None);
    }
    let typed = match args {
        "" => format!("/{name}"),
        args => format!("/{name} {args}"),
    };
    Some(Some(Typed {
        typed,
        local: LOCAL.contains(&name),
    }))
}

/// What stands between the marks of this name.
fn inner<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&*format!("<{name}>"))?;
    Some(rest.split_once(&*format!("</{name}>"))?.0)
}

/// Without marks and what they enclose. A mark that is never closed is text.
fn unmarked(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut from = 0;
    let mut at = 0;
    let mut never = [false; MARKS.len()];
    while let Some(found) = text[at..].find('<') {
        at += found;
        let end = MARKS.iter().enumerate().find_map(|(which, name)| {
            let inside = text[at + 1..].strip_prefix(name)?.strip_prefix('>')?;
            if never[which] {
                return None;
            }
            let close = format!("</{name}>");
            let length = inside.find(&close);
            never[which] = length.is_none();
            Some(text.len() - inside.len() + length? + close.len())
        });
        match end {
            Some(end) => {
                kept.push_str(&text[from..at]);
                from = end;
                at = end;
            }
            None => at += 1,
        }
    }
    if from == 0 {
        return text.into();
    }
    kept.push_str(&text[from..]);
    kept.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_stored_words_when_read_then_only_the_users_are_left() {
        let table = [
            ("Hello <there> a < b", Some("Hello <there> a < b")),
            ("a<system-reminder>\nx</system-reminder>b", Some("ab")),
            ("<system-reminder>x</system-reminder>\n", None),
            ("<local-command-caveat>x</local-command-caveat>", None),
            (
                "<local-command-stdout>Compacted </local-command-stdout>",
                None,
            ),
            (
                "a <system-reminder> of mine",
                Some("a <system-reminder> of mine"),
            ),
            ("[Request interrupted by user]", None),
            ("[Request interrupted by user for tool use]", None),
            (
                "<command-message>say-it</command-message>\n<command-name>/say-it</command-name>\n<command-args>to me</command-args>",
                Some("/say-it to me"),
            ),
            (
                "<command-name>/context</command-name>\n            <command-message>context</command-message>\n            <command-args></command-args>",
                None,
            ),
            ("<command-message>half", None),
            ("", None),
        ];
        for (stored, expected) in table {
            assert_eq!(written(stored).as_deref(), expected, "{stored}");
        }
    }

    #[test]
    fn given_many_marks_without_an_end_when_read_then_it_stays_quick() {
        let text = "<system-reminder><command-args>".repeat(100_000);
        assert_eq!(written(&text).as_deref(), Some(&*text));
    }
}
