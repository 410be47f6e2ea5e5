//! Random ids to readable names, so that snapshots can be read and compared.
//!
//! Pure. Invariant: an id gets its name at first sight and keeps it.

use std::collections::BTreeMap;

use serde_json::Value;

/// Names given so far.
#[derive(Clone, Debug, Default)]
pub struct Names {
    given: BTreeMap<String, String>,
    counts: BTreeMap<String, u32>,
}

impl Names {
    /// Replaces every UUID in `text`. What is at hand to name it is the JSON key in front
    /// of it: `"sessionId":"<uuid>"` becomes `"sessionId":"session-1"`.
    pub fn apply(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = find_uuid(rest) {
            let (head, tail) = rest.split_at(at);
            out.push_str(head);
            out.push_str(&self.name(&tail[..UUID], key_before(&out)));
            rest = &tail[UUID..];
        }
        out.push_str(rest);
        out
    }

    /// The same for a whole message.
    pub fn message(&mut self, message: &Value) -> String {
        self.apply(&message.to_string())
    }

    fn name(&mut self, id: &str, key: Option<String>) -> String {
        if let Some(name) = self.given.get(id) {
            return name.clone();
        }
        let stem = key.map_or("id".to_owned(), |key| {
            key.trim_end_matches("Id").to_lowercase()
        });
        let count = self.counts.entry(stem.clone()).or_default();
        *count += 1;
        let name = format!("{stem}-{count}");
        self.given.insert(id.to_owned(), name.clone());
        name
    }
}

const UUID: usize = 36;

fn find_uuid(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len().saturating_sub(UUID - 1)).find(|&at| is_uuid(&bytes[at..at + UUID]))
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    })
}

/// The key of the JSON string that begins at the end of `text`.
fn key_before(text: &str) -> Option<String> {
    let text = text.strip_suffix("\":\"")?;
    Some(text[text.rfind('"')? + 1..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_ids_under_keys_when_named_then_each_keeps_its_first_name() {
        let mut names = Names::default();
        let one = "0b638f44-dd84-41b0-99dd-86faa074a97b";
        let two = "9edeb19a-272f-47da-9ed7-de78fe2e8067";
        let text =
            format!(r#"{{"sessionId":"{one}","turnId":"{two}","again":"{one}","note":"x {two}"}}"#);
        assert_eq!(
            names.apply(&text),
            r#"{"sessionId":"session-1","turnId":"turn-1","again":"session-1","note":"x turn-1"}"#
        );
    }
}
