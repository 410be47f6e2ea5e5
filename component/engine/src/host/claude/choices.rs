//! What a user can answer when a tool may not be used without asking (Claude adapter,
//! section 10).
//!
//! Pure. Invariant: an answer that is remembered says what is remembered, or is not offered.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::labels;
use super::modes::{self, Modes};
use super::updates::{self, Update};
use super::wire::{Request, part};
use crate::host::dialog::{Choice, Leaning};
use crate::json::Object;
use crate::limits;

/// Of the session, what the choices depend on.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// Its folder.
    pub cwd: &'a str,
    /// The user's own folder, where it is known.
    pub home: Option<&'a str>,
    /// What modes there are.
    pub modes: Modes,
    /// Whether the model can decide on permissions.
    pub able: bool,
    /// A plan may be carried out in a context that begins anew.
    pub clears: Clears,
}

/// Whether the context may begin anew with a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clears {
    /// The user does not want to be asked, or no prompt would wait for it.
    No,
    /// It may; this share of it is used, in hundredths, where that is known.
    Yes(Option<u64>),
}

/// What a choice stands for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Yes; and this is to be remembered.
    Allow {
        updates: Option<Box<RawValue>>,
        lasting: bool,
    },
    /// Yes, in a context that begins anew, with permissions asked for in this way.
    Clear { mode: String },
    /// No.
    Reject {
        message: String,
        /// The turn ends with it.
        interrupt: bool,
    },
}

/// What a tool is to do, as far as it matters here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Input<'a> {
    #[serde(borrow)]
    url: Option<&'a RawValue>,
    #[serde(borrow)]
    skill: Option<&'a RawValue>,
    #[serde(borrow)]
    host: Option<&'a RawValue>,
    #[serde(borrow)]
    file_path: Option<&'a RawValue>,
    #[serde(borrow)]
    notebook_path: Option<&'a RawValue>,
    #[serde(borrow)]
    path: Option<&'a RawValue>,
    #[serde(borrow)]
    plan: Option<&'a RawValue>,
}

/// All choices, in the order in which they are shown.
pub fn of(request: &Request<'_>, about: &About<'_>) -> Vec<(Choice, Answer)> {
    let mut all = unsorted(request, about);
    let decline_first = request.default_to_no;
    all.sort_by_key(|(choice, _)| match choice.leaning {
        Leaning::RejectOnce if decline_first => 0,
        Leaning::AllowOnce => 1,
        Leaning::AllowAlways => 2,
        Leaning::RejectOnce => 3,
    });
    all
}

fn unsorted(request: &Request<'_>, about: &About<'_>) -> Vec<(Choice, Answer)> {
    let input: Input<'_> = part(request.input);
    let tool = &*request.tool_name;
    // The user's own rule says that this is asked: it is not to be ruled out here.
    let asked_for = request
        .matched_ask_rule
        .is_some_and(|raw| raw.get() != "null")
        || request.suppress_always_allow_rule;
    let offered = request.permission_suggestions.filter(|_| !asked_for);
    let bundle = updates::read(offered);
    // The bundle as it came, under this name.
    let as_it_came = |name: Option<String>| -> Vec<(Choice, Answer)> {
        let (Some(name), Some(raw), Some(_)) = (name, offered, &bundle) else {
            return Vec::new();
        };
        [lasting("allow-with-updates", name, raw)].into()
    };
    let ours = |name: String, updates: [Object; 1]| -> Vec<(Choice, Answer)> {
        // Texts alone: serialising them cannot fail.
        let raw = to_raw_value(&updates).unwrap_or_default();
        [lasting("allow-with-updates", name, &raw)].into()
    };
    let again = |what: &str| format!("Yes, and don't ask again for {what}");
    let label = text(request.display_name.as_deref()).unwrap_or(tool);
    let bundle_ref = bundle.as_deref();
    let remembered = match tool {
        "EnterPlanMode" => {
            return [
                once("allow-once", "Yes, enter plan mode", None),
                reject("No, start implementing now"),
            ]
            .into();
        }
        "ExitPlanMode" => return exit_plan(about, word(input.plan).is_some()),
        "Bash" | "PowerShell" => as_it_came(bundle_ref.and_then(|it| labels::shell(tool, it))),
        "Read" | "Glob" | "Grep" | "Edit" | "Write" | "NotebookEdit" => {
            let path = match tool {
                "Glob" | "Grep" => word(input.path).or(Some(Cow::Borrowed(about.cwd))),
                "NotebookEdit" => word(input.notebook_path),
                _ => word(input.file_path),
            };
            let writes = matches!(tool, "Edit" | "Write" | "NotebookEdit");
            as_it_came(bundle_ref.and_then(|it| labels::files(it, path.as_deref(), writes, about)))
        }
        "SandboxNetworkAccess" => {
            let host = word(input.host).filter(|host| exactly(bundle_ref, tool, host));
            as_it_came(host.map(|host| again(&host)))
        }
        _ if tool.starts_with("mcp__") => {
            let whole = bundle_ref.is_some_and(|it| whole_tool(it, tool));
            let commands = if tool.starts_with("mcp__computer-use__") {
                ""
            } else {
                " commands"
            };
            as_it_came(whole.then(|| again(&format!("{label}{commands}"))))
        }
        _ if asked_for => Vec::new(),
        "WebFetch" => match word(input.url).as_deref().and_then(host_of) {
            Some(host) => ours(
                again(&host),
                updates::allow(tool, Some(&format!("domain:{host}"))),
            ),
            None => Vec::new(),
        },
        "Skill" => skill(word(input.skill).as_deref()),
        _ => ours(
            again(&format!("{label} commands")),
            updates::allow(tool, None),
        ),
    };
    let mut all = Vec::from([once("allow-once", "Yes", None)]);
    all.extend(remembered);
    all.push(reject("No"));
    all
}

/// The plan is good, or not; and how the work goes on.
fn exit_plan(about: &About<'_>, planned: bool) -> Vec<(Choice, Answer)> {
    let auto = about.modes.offers(modes::AUTO) && about.able;
    let bypass = about.modes.offers(modes::BYPASS);
    let into = |mode: &str| to_raw_value(&updates::mode(mode)).unwrap_or_default();
    let ways = [
        (auto, "auto", "use auto mode", modes::AUTO),
        (bypass, "bypass", "bypass permissions", modes::BYPASS),
        (
            !auto && !bypass,
            "accept-edits",
            "auto-accept edits",
            modes::EDITS,
        ),
    ];
    let ways = ways.into_iter().filter(|(offered, ..)| *offered);
    let mut all = Vec::new();
    if let Clears::Yes(share) = about.clears
        && planned
    {
        let used = share.map_or_else(String::new, |share| format!(" ({share}% used)"));
        all.extend(ways.clone().map(|(_, id, what, mode)| {
            let name = format!("Yes, clear context{used} and {what}");
            let id = format!("exit-plan-clear-{id}");
            let mode = mode.to_owned();
            (
                choice(&id, &name, Leaning::AllowAlways),
                Answer::Clear { mode },
            )
        }));
    }
    for (_, id, what, mode) in ways {
        let name = match mode {
            modes::EDITS => format!("Yes, {what}"),
            _ => format!("Yes, and {what}"),
        };
        all.push(lasting(&format!("exit-plan-{id}"), name, &into(mode)));
    }
    all.push(once(
        "exit-plan-default",
        "Yes, manually approve edits",
        Some(into(modes::MANUAL)),
    ));
    let stay = Answer::Reject {
        message: "User chose to keep planning".to_owned(),
        interrupt: true,
    };
    all.push((
        choice("reject", "No, keep planning", Leaning::RejectOnce),
        stay,
    ));
    all
}

fn skill(skill: Option<&str>) -> Vec<(Choice, Answer)> {
    let most = limits::CLAUDE_SKILL_RULE;
    let fits = |skill: &&str| skill.encode_utf16().count() as u64 <= most;
    let Some(skill) = skill.filter(fits) else {
        return Vec::new();
    };
    let rule = |id: &str, name: String, content: &str| {
        let updates = updates::allow("Skill", Some(content));
        let raw = to_raw_value(&updates).unwrap_or_default();
        lasting(id, name, &raw)
    };
    let mut all = Vec::from([rule(
        "allow-skill-exact",
        format!("Yes, and don't ask again for {skill}"),
        skill,
    )]);
    if let Some((command, _)) = skill.split_once(' ') {
        let prefix = format!("{command}:*");
        let name = format!("Yes, and don't ask again for {prefix} commands");
        all.push(rule("allow-skill-prefix", name, &prefix));
    }
    all
}

fn once(id: &str, name: &str, updates: Option<Box<RawValue>>) -> (Choice, Answer) {
    let answer = Answer::Allow {
        updates,
        lasting: false,
    };
    (choice(id, name, Leaning::AllowOnce), answer)
}

fn lasting(id: &str, name: String, updates: &RawValue) -> (Choice, Answer) {
    let answer = Answer::Allow {
        updates: Some(updates.to_owned()),
        lasting: true,
    };
    (choice(id, &name, Leaning::AllowAlways), answer)
}

fn reject(name: &str) -> (Choice, Answer) {
    let answer = Answer::Reject {
        message: "User refused permission to run tool".to_owned(),
        interrupt: false,
    };
    (choice("reject", name, Leaning::RejectOnce), answer)
}

fn choice(id: &str, name: &str, leaning: Leaning) -> Choice {
    Choice {
        id: Some(id.to_string()),
        name: name.to_string(),
        leaning,
    }
}

/// Whether the bundle allows this of the tool, in this project, and nothing else.
fn exactly(bundle: Option<&[Update<'_>]>, tool: &str, content: &str) -> bool {
    let Some([update]) = bundle else {
        return false;
    };
    let [rule] = update.rules.as_slice() else {
        return false;
    };
    update.allows()
        && update.destination == "localSettings"
        && rule.tool_name == tool
        && rule.rule_content.as_deref().map(str::trim) == Some(content)
}

/// Whether the bundle allows the whole tool, and nothing else.
fn whole_tool(bundle: &[Update<'_>], tool: &str) -> bool {
    bundle.iter().all(|update| {
        let mut rules = update.rules.iter();
        update.allows() && rules.all(|rule| rule.tool_name == tool && rule.rule_content.is_none())
    })
}

/// The host of an address.
fn host_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    if scheme.is_empty() || !scheme.chars().all(named) {
        return None;
    }
    let authority = rest.split(['/', '\\', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let end = match host.find(']') {
        Some(end) if host.starts_with('[') => end + 1,
        _ => host.find(':').unwrap_or(host.len()),
    };
    let host = host[..end].to_lowercase();
    (!host.is_empty() && !host.contains(char::is_whitespace)).then_some(host)
}

fn word(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let text: String = serde_json::from_str(raw?.get()).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| Cow::Owned(text.to_owned()))
}

fn text(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}
