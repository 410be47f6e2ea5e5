//! Removes one rule after the other, in a copy of the sources, and shows which test
//! notices. A rule that no test misses, or whose place was not found, fails the command.

use std::fs;
use std::path::Path;

use crate::run::{Failed, cargo, program, root};
use crate::{claude_rules, planted};

/// A rule, and how its removal looks; or a bug.
pub struct Mutation {
    /// What is removed, or goes wrong.
    pub rule: &'static str,
    /// Where.
    pub file: &'static str,
    /// What stands there, once.
    pub from: &'static str,
    /// What stands there instead.
    pub to: &'static str,
    /// Test files of airlock-tests that guard it.
    pub tests: &'static [&'static str],
}

const TABLE: &[Mutation] = &[
    Mutation {
        rule: "prefix rule: text that was shown is never rewritten",
        file: "component/engine/src/projection/message.rs",
        from: "rest.strip_prefix(self.text.as_str())",
        to: "Some(rest.get(self.text.len()..).unwrap_or_default())",
        tests: &["turn_end"],
    },
    Mutation {
        rule: "sequence check: a feed with a gap is read anew",
        file: "component/engine/src/host/maka/frames.rs",
        from: "if frame.sequence != attached.next_sequence {",
        to: "if false {",
        tests: &["recovery_feed"],
    },
    Mutation {
        rule: "cancel latch: after a cancel nothing is shown and the answer is cancelled",
        file: "component/engine/src/session/prompt.rs",
        from: "        self.fate = Fate::Cancelled;\n",
        to: "",
        tests: &["cancel"],
    },
    Mutation {
        rule: "final reread: everything stored is read once more before end_turn",
        file: "component/engine/src/host/maka/turn.rs",
        from: "self.finale = Finale::Due;\n        }\n        self.ended",
        to: "self.finale = Finale::Done;\n        }\n        self.ended",
        tests: &["reading"],
    },
    Mutation {
        rule: "fresh look: what a turn stored without any advance is read before end_turn",
        file: "component/engine/src/host/maka/unread.rs",
        from: "!self.unread.tools.is_empty();",
        to: "false;",
        tests: &["reading"],
    },
    Mutation {
        rule: "one fresh look: a result that is never stored holds nothing up",
        file: "component/engine/src/host/maka/unread.rs",
        from: "        self.unread.looked |= again;\n",
        to: "",
        tests: &["reading"],
    },
    Mutation {
        rule: "exactly one Stop",
        file: "component/engine/src/host/maka/turns.rs",
        from: "                turn.stop = Stop::Sent;\n",
        to: "",
        tests: &["cancel"],
    },
    Mutation {
        rule: "poison: an input that trapped is answered",
        file: "component/engine/src/lib.rs",
        from: "Input::Poison(origin) => self.poison(origin),",
        to: "Input::Poison(_) => {}",
        tests: &["poison"],
    },
    Mutation {
        rule: "compare-and-set: three revisions are tried and no more",
        file: "component/engine/src/host/maka/configure.rs",
        from: "if set.conflicts < limits::MAKA_CHANGES {",
        to: "if true {",
        tests: &["options"],
    },
    Mutation {
        rule: "order of options: what is being set is told before what was read meanwhile",
        file: "component/engine/src/host/maka/catalog.rs",
        from: "&& !self.settings.pass_over(key)",
        to: "",
        tests: &["options_elsewhere"],
    },
    Mutation {
        rule: "deletion: what could not be closed is not deleted",
        file: "component/engine/src/session/facts.rs",
        from: "(Some(failure), _) => self.editor.refuse(core, ticket, &refusal(failure)),\n            (None, Some(session_id))",
        to: "(Some(failure), None) => self.editor.refuse(core, ticket, &refusal(failure)),\n            (_, Some(session_id))",
        tests: &["delete"],
    },
    Mutation {
        rule: "fence: a turn that is being stopped asks nothing more",
        file: "component/engine/src/host/maka/turns.rs",
        from: "        self.fence_stopped(cx, key);\n",
        to: "",
        tests: &["dialogs_void"],
    },
    Mutation {
        rule: "to turn away is no answer",
        file: "component/engine/src/session/dialogs.rs",
        from: "if matches!(reply, Reply::Cancelled) && !dialog.cancel_is_answer {",
        to: "if false {",
        tests: &["dialogs"],
    },
    Mutation {
        rule: "card first: a question waits until its card is out",
        file: "component/engine/src/session/dialogs.rs",
        from: "        if self.editor.slow() {\n            return;\n        }\n",
        to: "",
        tests: &["dialogs_void"],
    },
    Mutation {
        rule: "identity: what the Host confirms is what it showed",
        file: "component/engine/src/host/maka/interactions.rs",
        from: "            && json::same(&self.request, told.request)\n",
        to: "",
        tests: &["dialogs_invalid"],
    },
    Mutation {
        rule: "another client's question is left to it",
        file: "component/engine/src/host/maka/interactions.rs",
        from: "        ours && !known",
        to: "        (ours || true) && !known",
        tests: &["dialogs_void"],
    },
    Mutation {
        rule: "changed file: the second reading has the digest of the first",
        file: "component/engine/src/host/maka/upload.rs",
        from: "(item.digest.as_ref() != Some(&digest))",
        to: "(false)",
        tests: &["uploads"],
    },
    Mutation {
        rule: "changed file: size, time and identity are those of the opened file",
        file: "component/engine/src/admission/reading.rs",
        from: "if same { Ok(()) } else { Err(Unusable::Changed) }",
        to: "Ok(same).map(drop)",
        tests: &["uploads"],
    },
    Mutation {
        rule: "lost begin: an upload that may be open is aborted",
        file: "component/engine/src/host/maka/upload.rs",
        from: "*dispatched && *reason == \"timeout\"",
        to: "false",
        tests: &["uploads"],
    },
    Mutation {
        rule: "files are closed whatever becomes of a prompt",
        file: "component/engine/src/host/maka/upload.rs",
        from: "if let Stage::Opening(handle) = parcel.stage {\n            cx.core.file_close(handle);\n        }\n",
        to: "",
        tests: &["uploads"],
    },
    Mutation {
        rule: "no message is submitted before its turn is admitted",
        file: "component/engine/src/host/maka/steering.rs",
        from: "matches!(turn.admission, Admission::Admitted { .. })",
        to: "true",
        tests: &["steering"],
    },
];

/// Runs the tables and the planted bugs; with `--alone` only these, and all other tests too;
/// with a word only what is in a file whose path holds it.
///
/// # Errors
/// When a rule is not guarded, a bug is seen by other tests than it should, or the table does
/// not fit the sources any more.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let alone = words.iter().any(|word| word == "--alone");
    let copy = root().join("target/mutants/source");
    // The same folder as ever: what comes from the registry is not built again.
    let built = root().join("target");
    fresh_copy(&copy)?;
    let only = words.iter().find(|word| !word.starts_with("--"));
    let wanted = |it: &&Mutation| only.is_none_or(|only| it.file.contains(only.as_str()));
    let rules = TABLE.iter().chain(claude_rules::TABLE);
    let rules: Vec<&Mutation> = rules.filter(|_| !alone).filter(wanted).collect();
    let planted: Vec<&Mutation> = planted::TABLE.iter().filter(wanted).collect();
    let others = if alone { other_tests()? } else { Vec::new() };
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let all = || rules.iter().chain(&planted);
    let guards = all().flat_map(|mutation| mutation.tests).copied();
    let guards: Vec<&str> = guards.chain(others.iter().copied()).collect();
    if let Some(failed) = first_failure(&copy, &built, &guards)? {
        return Err(Failed(format!(
            "the sources are not green before any mutation: {failed}"
        )));
    }
    let mut unguarded = Vec::new();
    for mutation in &rules {
        let noticed = with(mutation, &copy, || {
            first_failure(&copy, &built, mutation.tests)
        })?;
        println!(
            "{}\n    without it fails: {}",
            mutation.rule,
            noticed.as_deref().unwrap_or("NOTHING")
        );
        if noticed.is_none() {
            unguarded.push(mutation.rule);
        }
    }
    for bug in &planted {
        let (noticed, elsewhere) = with(bug, &copy, || {
            let noticed = first_failure(&copy, &built, bug.tests)?;
            let elsewhere = match others.is_empty() {
                true => None,
                false => first_failure(&copy, &built, &others)?,
            };
            Ok((noticed, elsewhere))
        })?;
        println!(
            "{}\n    only every order shows it: {}\n    all other tests: {}",
            bug.rule,
            noticed.as_deref().unwrap_or("NOTHING"),
            match (&elsewhere, alone) {
                (Some(failed), _) => failed,
                (None, true) => "green",
                (None, false) => "not run (they are with --alone)",
            }
        );
        if noticed.is_none() || elsewhere.is_some() {
            unguarded.push(bug.rule);
        }
    }
    if unguarded.is_empty() {
        let (rules, bugs) = (rules.len(), planted.len());
        println!("{rules} rules, each guarded; {bugs} bugs that only races shows");
        return Ok(());
    }
    Err(Failed(format!(
        "not guarded as it should be: {}",
        unguarded.join("; ")
    )))
}

/// What `what` gives while the mutation is in the copy.
fn with<T>(
    mutation: &Mutation,
    copy: &Path,
    what: impl FnOnce() -> Result<T, Failed>,
) -> Result<T, Failed> {
    let path = copy.join(mutation.file);
    let whole = fs::read_to_string(&path)?;
    if whole.matches(mutation.from).count() != 1 {
        let file = mutation.file;
        return Err(Failed(format!(
            "{file} does not hold \"{}\" once",
            mutation.from
        )));
    }
    fs::write(&path, whole.replace(mutation.from, mutation.to))?;
    let given = what();
    fs::write(&path, whole)?;
    given
}

/// Every test file of airlock-tests that needs no runner, but `races`.
fn other_tests() -> Result<Vec<String>, Failed> {
    const NEED_THE_RUNNER: [&str; 2] = ["parity", "parity_cargo_component"];
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("tests/tests"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "rs") || path.join("main.rs").exists() {
            let name = path.file_stem().unwrap_or_default();
            names.push(name.to_string_lossy().into_owned());
        }
    }
    const EVERY_ORDER: [&str; 2] = ["races", "claude_races"];
    names.retain(|name| {
        !EVERY_ORDER.contains(&name.as_str()) && !NEED_THE_RUNNER.contains(&name.as_str())
    });
    names.sort_unstable();
    Ok(names)
}

/// The sources as git knows them, with what is not committed yet.
fn fresh_copy(copy: &Path) -> Result<(), Failed> {
    if copy.exists() {
        fs::remove_dir_all(copy)?;
    }
    let list = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let listed = program("git").args(list).output()?;
    for name in String::from_utf8_lossy(&listed.stdout).lines() {
        let from = root().join(name);
        let to = copy.join(name);
        if !from.is_file() {
            continue;
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(from, to)?;
    }
    Ok(())
}

/// The first test of these files that fails; that they do not build is no answer.
fn first_failure(copy: &Path, built: &Path, tests: &[&str]) -> Result<Option<String>, Failed> {
    let mut words = vec![
        "test",
        "--package",
        "airlock-tests",
        "--no-default-features",
    ];
    for test in tests {
        words.extend(["--test", test]);
    }
    let quiet = |words: &[&str]| {
        cargo(words.iter().copied())
            .within(copy)
            .env("CARGO_TARGET_DIR", built)
    };
    let build: Vec<&str> = words.iter().copied().chain(["--no-run"]).collect();
    quiet(&build).done()?;
    words.push("--no-fail-fast");
    let output = quiet(&words).output()?;
    if output.status.success() {
        return Ok(None);
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let failed = printed
        .lines()
        .find_map(|line| line.strip_suffix(" ... FAILED"));
    let failed = failed.and_then(|line| line.strip_prefix("test "));
    Ok(Some(
        failed
            .unwrap_or("the run itself (it may have hung or crashed)")
            .to_string(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sweep itself takes long; that its tables fit the sources is known at once.
    #[test]
    fn given_the_tables_when_the_sources_are_read_then_each_place_is_there_once() {
        let all = TABLE.iter().chain(claude_rules::TABLE);
        let all = all.chain(planted::TABLE);
        let misfits: Vec<&str> = all
            .filter(|it| {
                let whole = fs::read_to_string(root().join(it.file)).unwrap_or_default();
                whole.matches(it.from).count() != 1
            })
            .map(|it| it.rule)
            .collect();
        assert_eq!(misfits, [""; 0]);
    }
}
