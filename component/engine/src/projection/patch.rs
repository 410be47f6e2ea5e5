//! What became of a file as one patch, in the words of `git diff`.
//!
//! Pure. Invariant: the patch turns the old text into the new one exactly, or there is none.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::limits;

/// Lines around a change.
const AROUND: usize = 3;

/// The patch; `old` is absent where the file is new. None for texts that are equal, or that
/// a patch cannot hold.
pub fn patch(path: &str, old: Option<&str>, new: &str) -> Option<String> {
    let most = limits::PATCHED_TEXT;
    let fits = |text: &str| text.len() as u64 <= most && !text.contains(['\r', '\0']);
    if old == Some(new) || !fits(new) || !old.is_none_or(fits) {
        return None;
    }
    let before = lines(old.unwrap_or_default());
    let after = lines(new);
    let hunks = hunks(&steps(&before, &after));
    if hunks.is_empty() {
        return None;
    }
    let name = path.trim_start_matches('/').replace('\\', "/");
    let (a, b) = (format!("a/{name}"), format!("b/{name}"));
    let mut text = format!("diff --git {} {}\n", quoted(&a), quoted(&b));
    if old.is_some() {
        text.push_str(&format!("--- {}\n", header(&a)));
    } else {
        text.push_str("new file mode 100644\n--- /dev/null\n");
    }
    text.push_str(&format!("+++ {}\n", header(&b)));
    hunks.iter().for_each(|hunk| write(hunk, &mut text));
    Some(text)
}

/// A line, with its end if it has one.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// One line of the old or the new text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<'a> {
    Same(&'a str),
    Gone(&'a str),
    Added(&'a str),
}

/// How the one becomes the other.
fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Step<'a>> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = pairs.take_while(|(a, b)| a == b).count();
    let mut steps: Vec<Step<'a>> = old[..head].iter().map(|line| Step::Same(line)).collect();
    between(
        &old_rest[..old_rest.len() - tail],
        &new_rest[..new_rest.len() - tail],
        &mut steps,
    );
    let end = &old_rest[old_rest.len() - tail..];
    steps.extend(end.iter().map(|line| Step::Same(line)));
    steps
}

/// The longest common lines stay; where looking for them costs too much, none do.
fn between<'a>(old: &[&'a str], new: &[&'a str], steps: &mut Vec<Step<'a>>) {
    let (n, m) = (old.len(), new.len());
    let cells = (n as u64 + 1).saturating_mul(m as u64 + 1);
    if n == 0 || m == 0 || cells > limits::PATCH_CELLS {
        steps.extend(old.iter().map(|line| Step::Gone(line)));
        steps.extend(new.iter().map(|line| Step::Added(line)));
        return;
    }
    let width = m + 1;
    let mut common = vec![0_u32; (n + 1) * width];
    for i in (0..n).rev() {
        for j in (0..m).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < n || j < m {
        if i < n && j < m && old[i] == new[j] {
            steps.push(Step::Same(old[i]));
            i += 1;
            j += 1;
        } else if i < n && (j == m || common[(i + 1) * width + j] >= common[i * width + j + 1]) {
            steps.push(Step::Gone(old[i]));
            i += 1;
        } else {
            steps.push(Step::Added(new[j]));
            j += 1;
        }
    }
}

/// Changes that are near each other, with the lines around them.
struct Hunk<'a> {
    /// Lines before it, of either text.
    old_before: usize,
    new_before: usize,
    steps: Vec<Step<'a>>,
}

fn hunks<'a>(steps: &[Step<'a>]) -> Vec<Hunk<'a>> {
    let changed = |step: &Step<'_>| !matches!(step, Step::Same(_));
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (at, _) in steps.iter().enumerate().filter(|(_, step)| changed(step)) {
        let (from, to) = (
            at.saturating_sub(AROUND),
            (at + AROUND + 1).min(steps.len()),
        );
        match ranges.last_mut() {
            Some((_, end)) if from <= *end => *end = to,
            _ => ranges.push((from, to)),
        }
    }
    let old = |steps: &[Step<'_>]| {
        steps
            .iter()
            .filter(|it| !matches!(it, Step::Added(_)))
            .count()
    };
    let new = |steps: &[Step<'_>]| {
        steps
            .iter()
            .filter(|it| !matches!(it, Step::Gone(_)))
            .count()
    };
    let hunk = |(from, to): (usize, usize)| Hunk {
        old_before: old(&steps[..from]),
        new_before: new(&steps[..from]),
        steps: steps[from..to].to_vec(),
    };
    ranges.into_iter().map(hunk).collect()
}

fn write(hunk: &Hunk<'_>, text: &mut String) {
    let count = |wanted: fn(&Step<'_>) -> bool| hunk.steps.iter().filter(|it| wanted(it)).count();
    let old = count(|step| !matches!(step, Step::Added(_)));
    let new = count(|step| !matches!(step, Step::Gone(_)));
    let range = |before: usize, lines: usize| match lines {
        // Of no lines, the place is the line before.
        0 => format!("{before},0"),
        1 => format!("{}", before + 1),
        _ => format!("{},{lines}", before + 1),
    };
    text.push_str(&format!(
        "@@ -{} +{} @@\n",
        range(hunk.old_before, old),
        range(hunk.new_before, new)
    ));
    for step in &hunk.steps {
        let (side, line) = match step {
            Step::Same(line) => (' ', line),
            Step::Gone(line) => ('-', line),
            Step::Added(line) => ('+', line),
        };
        text.push(side);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// As Git writes a name with `core.quotePath`.
fn quoted(name: &str) -> String {
    let plain = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\';
    if name.bytes().all(plain) {
        return name.into();
    }
    let mut quoted = String::from("\"");
    for byte in name.bytes() {
        match byte {
            b'"' => quoted.push_str("\\\""),
            b'\\' => quoted.push_str("\\\\"),
            b'\t' => quoted.push_str("\\t"),
            b'\n' => quoted.push_str("\\n"),
            0x07 => quoted.push_str("\\a"),
            0x08 => quoted.push_str("\\b"),
            0x0b => quoted.push_str("\\v"),
            0x0c => quoted.push_str("\\f"),
            byte if plain(byte) => quoted.push(char::from(byte)),
            byte => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted.push('"');
    quoted
}

/// In a line of its own a name with a blank ends in a tab, so that it can be told from what
/// follows.
fn header(name: &str) -> String {
    let tab = if name.contains(' ') { "\t" } else { "" };
    format!("{}{tab}", quoted(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn body(old: &str, new: &str) -> String {
        let patch = patch("/w/f", Some(old), new).unwrap();
        let head = "diff --git a/w/f b/w/f\n--- a/w/f\n+++ b/w/f\n";
        patch.strip_prefix(head).unwrap().to_string()
    }

    #[test]
    fn given_a_changed_line_when_patched_then_the_hunk_has_the_lines_around_it() {
        assert_eq!(
            body("first\nsecond\nthird\n", "first\nSECOND\nthird\n"),
            "@@ -1,3 +1,3 @@\n first\n-second\n+SECOND\n third\n"
        );
        assert_eq!(body("old\n", "new\n"), "@@ -1 +1 @@\n-old\n+new\n");
    }

    #[test]
    fn given_changes_far_apart_when_patched_then_each_has_its_hunk_and_near_ones_share_one() {
        let numbers =
            |from: u64, to: u64| (from..=to).map(|n| format!("{n}\n")).collect::<String>();
        let old = numbers(1, 20);
        let new = format!("one\n{}{}twenty\n", numbers(2, 19), "");
        assert_eq!(
            body(&old, &new),
            "@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n@@ -17,4 +17,4 @@\n 17\n 18\n 19\n-20\n+twenty\n"
        );
        let near = format!("one\n{}five\n{}", numbers(2, 4), numbers(6, 20));
        assert_eq!(
            body(&old, &near),
            "@@ -1,8 +1,8 @@\n-1\n+one\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        );
    }

    #[test]
    fn given_files_without_a_last_line_end_when_patched_then_it_says_so() {
        assert_eq!(
            body("a\nb", "a\nb\n"),
            "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
        );
    }

    #[test]
    fn given_a_new_file_when_patched_then_it_comes_from_nowhere() {
        assert_eq!(
            patch("/w/n", None, "a\nb\n").unwrap(),
            "diff --git a/w/n b/w/n\nnew file mode 100644\n--- /dev/null\n+++ b/w/n\n@@ -0,0 +1,2 @@\n+a\n+b\n"
        );
        assert_eq!(patch("/w/n", None, ""), None);
        assert_eq!(
            patch("/w/n", Some("a\n"), "").unwrap().lines().last(),
            Some("-a")
        );
    }

    #[test]
    fn given_names_that_git_quotes_when_patched_then_they_are_quoted() {
        let head = |path: &str| {
            let patch = patch(path, Some("a\n"), "b\n").unwrap();
            patch.lines().take(3).collect::<Vec<_>>().join("|")
        };
        assert_eq!(
            head("/w/a b"),
            "diff --git a/w/a b b/w/a b|--- a/w/a b\t|+++ b/w/a b\t"
        );
        assert_eq!(
            head("/w/\u{e4}\"t\t"),
            "diff --git \"a/w/\\303\\244\\\"t\\t\" \"b/w/\\303\\244\\\"t\\t\"|--- \"a/w/\\303\\244\\\"t\\t\"|+++ \"b/w/\\303\\244\\\"t\\t\""
        );
    }

    #[test]
    fn given_texts_that_no_patch_can_hold_when_patched_then_there_is_none() {
        assert_eq!(patch("/f", Some("a"), "a"), None);
        assert_eq!(patch("/f", Some("a\r\n"), "b"), None);
        assert_eq!(patch("/f", Some("a"), "b\0"), None);
        let long = "x".repeat(limits::PATCHED_TEXT as usize + 1);
        assert_eq!(patch("/f", Some("a"), &long), None);
    }

    #[test]
    fn given_texts_too_different_to_compare_when_patched_then_all_of_it_is_replaced() {
        let many = |word: &str| format!("{word}\nsame\n").repeat(2_000);
        let patch = body(&many("a"), &many("b"));
        assert!(patch.starts_with("@@ -1,4000 +1,4000 @@\n-a\n-same\n-a\n"));
    }
}
