//! Where Claude Code keeps its sessions: `projects/<name of the folder>/<session id>.jsonl`
//! below its configuration (`docs/claude-transcripts.md`).
//!
//! Pure. Invariant: no path that comes out leads outside `projects`, whatever goes in.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::input::{FileArrival, FileFacts, FileKind, FileRefusal};

/// Units of a name that are kept; a longer one ends in a number made of the whole path.
const NAME: usize = 200;

/// The folder in which the projects are.
pub fn projects(config: &str) -> String {
    format!("{}/projects", config.trim_end_matches('/'))
}

/// The name of a working folder's project.
fn name(cwd: &str) -> String {
    // The program counts UTF-16 units, and so does the number.
    let plain = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '-',
    };
    let units: Vec<u16> = cwd.encode_utf16().collect();
    let name: String = units.iter().take(NAME).map(|unit| plain(*unit)).collect();
    if units.len() <= NAME {
        return name;
    }
    let number = units.iter().fold(0_i32, |number, unit| {
        number.wrapping_mul(31).wrapping_add(i32::from(*unit))
    });
    format!("{name}-{}", base36(number.unsigned_abs()))
}

/// The project of a working folder.
pub fn project(projects: &str, cwd: &str) -> String {
    format!("{projects}/{}", name(cwd))
}

/// What a working folder really is, from what was found when it was looked at; `None` if it
/// is none.
pub fn real(cwd: &str, found: Option<FileArrival>) -> Option<String> {
    match found {
        Some(FileArrival::Facts(facts)) if facts.kind == FileKind::Folder => {
            Some(facts.canonical_path)
        }
        // Not to be looked at: the name as given is all there is.
        Some(FileArrival::Refused(FileRefusal::NotAllowed)) => Some(cwd.into()),
        _ => None,
    }
}

/// The projects that there are.
pub fn all(projects: &str, entries: Vec<(String, FileFacts)>) -> Vec<String> {
    let folders = entries
        .into_iter()
        .filter(|(_, facts)| facts.kind == FileKind::Folder);
    folders
        .map(|(name, _)| format!("{projects}/{name}"))
        .collect()
}

/// The file of a session.
pub fn file(project: &str, id: &str) -> String {
    format!("{project}/{id}.jsonl")
}

/// The file that says that a session is in the archive.
pub fn archived(project: &str, id: &str) -> String {
    format!("{project}/{id}.archived")
}

/// The sessions of a project that are in the archive.
pub fn archive(entries: &[(String, FileFacts)]) -> BTreeSet<&str> {
    let names = entries
        .iter()
        .filter_map(|(name, _)| name.strip_suffix(".archived"));
    names.filter(|id| is_session(id)).collect()
}

/// The file of a subagent of a session.
pub fn subagent(project: &str, id: &str, agent: &str) -> String {
    format!("{project}/{id}/subagents/agent-{agent}.jsonl")
}

/// The session of a file, by its name.
pub fn session(name: &str) -> Option<&str> {
    name.strip_suffix(".jsonl").filter(|id| is_session(id))
}

/// Whether this can be a session's id: a UUID, in any case of letters.
pub fn is_session(id: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| {
            if dashes.contains(&at) {
                byte == b'-'
            } else {
                byte.is_ascii_hexdigit()
            }
        })
}

/// Whether this can be a subagent's id.
pub fn is_agent(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !id.is_empty() && id.len() <= 128 && id.bytes().all(plain)
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All from the program itself, version 2.1.318.
    #[test]
    fn given_a_folder_when_named_then_as_the_program_names_it() {
        assert_eq!(name("/tmp/cc/run/a/ws"), "-tmp-cc-run-a-ws");
        assert_eq!(
            name("/tmp/cc/run/c.d_e \u{fc}/ws"),
            "-tmp-cc-run-c-d-e---ws"
        );
        let long = format!("/tmp/cc/run/{}/y/ws", "long-".repeat(50));
        let begun: String = format!("-tmp-cc-run-{}", "long-".repeat(50));
        assert_eq!(name(&long), format!("{}-o3i6mj", &begun[..200]));
    }

    #[test]
    fn given_an_id_when_it_could_lead_elsewhere_then_it_is_none() {
        let good = "1D5e6e18-0b77-4a2d-b2ef-a8fd845ef3d8";
        assert!(is_session(good));
        assert_eq!(session(&format!("{good}.jsonl")), Some(good));
        for bad in [
            "",
            "../../../../../../../../../../etc/pw",
            "1d5e6e18",
            "agent-a49b",
        ] {
            assert!(!is_session(bad), "{bad}");
        }
        assert!(is_agent("a49bf3a82ae708e5e") && !is_agent("../x") && !is_agent(""));
    }
}
