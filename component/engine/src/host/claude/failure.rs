//! The one table of what goes wrong with Claude Code, in sentences that say what to do.

use alloc::format;
use alloc::string::String;

use super::replace::Why;
use crate::host::{Blame, Failure, ForkPoint};
use crate::input::{FileRefusal, HostRefusal};
use crate::json::Object;
use crate::object;

/// How the program is installed.
const INSTALL: &str = "npm install -g @anthropic-ai/claude-code";

fn host(message: String, data: Object) -> Failure {
    Failure {
        blame: Blame::Host,
        message,
        data,
    }
}

/// The program could not be started.
pub fn refused(program: &str, cwd: &str, refusal: &HostRefusal) -> Failure {
    let message = match refusal {
        HostRefusal::NoFolder => return no_folder(cwd),
        HostRefusal::Absent => format!(
            "Claude Code was not found ({program}). Install it with `{INSTALL}`, or name it with --claude PATH or CLAUDE_CODE_EXECUTABLE."
        ),
        HostRefusal::NotAllowed => {
            format!("{program} may not be started. Name it with --claude PATH.")
        }
        HostRefusal::Insecure(why) | HostRefusal::Failed(why) => {
            format!("Claude Code could not be started ({program}: {why}).")
        }
        HostRefusal::Stale => format!("Claude Code could not be started ({program})."),
    };
    host(
        message,
        object! { "source": "claude", "code": "start_failed" },
    )
}

/// The process ended while it was needed.
pub fn exited(code: Option<i32>, said: &str) -> Failure {
    let how = code.map_or_else(String::new, |code| format!(" (exit code {code})"));
    let said = said.trim();
    let words = if said.is_empty() {
        String::new()
    } else {
        format!(" It said: {said}")
    };
    host(
        format!(
            "The Claude Agent process exited unexpectedly{how}. Start a new session or load this one again.{words}"
        ),
        object! { "source": "claude", "code": "process_exited" },
    )
}

/// The process was shut down from elsewhere, and said so.
pub fn worker_shutdown() -> Failure {
    host(
        "Claude Code was shut down while it worked. Start a new session or load this one again."
            .into(),
        object! { "source": "claude", "code": "worker_shutdown" },
    )
}

/// A version of ACP that is not spoken.
pub fn protocol(value: &str) -> String {
    match value {
        "v2" => {
            "CLAUDE_AGENT_ACP_PROTOCOL is v2, which is not served yet. Set it to auto or v1.".into()
        }
        _ => format!(
            "CLAUDE_AGENT_ACP_PROTOCOL is {value}, which is no version. Set it to auto or v1."
        ),
    }
}

/// The process did not greet.
pub fn silent(said: &str) -> Failure {
    let mut failure = exited(None, said);
    failure.message = format!(
        "Claude Code did not answer in time. Run `claude` in a terminal to see why. {}",
        said.trim()
    );
    failure
}

/// The session's process is gone.
pub fn ended() -> Failure {
    host(
        "The Claude Agent session has ended. Start a new session or load this one again.".into(),
        object! { "source": "claude", "code": "session_ended" },
    )
}

/// The process is replaced by a fresh one.
pub fn anew() -> Failure {
    host(
        "Claude Code begins anew with the plan. Change the setting again when it works.".into(),
        object! { "source": "claude", "code": "begins_anew" },
    )
}

/// A task in the background ends with the process that did it.
pub fn cut_off(name: &str, why: Why) -> String {
    let why = match why {
        Why::Provider => "another provider was set",
        Why::Plan => "Claude Code begins anew with the plan",
        Why::Load => "the session was loaded with another setup",
        // What it started may go on, without anybody who hears of it.
        Why::Gone => {
            return format!(
                "What becomes of \"{name}\" is not known, because Claude Code ended. Ask for it \
                 again if you still need it."
            );
        }
    };
    format!("\"{name}\" ended, because {why}. Ask for it again if you still need it.")
}

/// The program refused to greet.
pub fn greeting(error: &str) -> Failure {
    host(
        format!("Claude Code could not start the session: {error}"),
        object! { "source": "claude", "code": "initialize_failed" },
    )
}

/// Whether somebody has to sign in before anything can be done.
pub fn asks_for_login(text: &str, kind: &str) -> bool {
    kind == "authentication_failed"
        || text.contains("Please run /login")
        || text.contains("Invalid API key")
}

/// A turn that the program says has failed.
pub fn turn(text: &str, kind: &str, signed_out: bool) -> Failure {
    if signed_out {
        return Failure {
            blame: Blame::SignedOut,
            message: "Authentication required".into(),
            data: Object::new(),
        };
    }
    host(
        format!("Internal error: {text}"),
        object! { "errorKind": kind },
    )
}

/// The program is done, but said nothing of the turn.
pub fn no_result() -> Failure {
    host(
        "Internal error: Claude Code went idle without a result for this prompt. Send it again."
            .into(),
        object! { "errorKind": "no_result" },
    )
}

/// The turn ended, but a tool of it did not.
pub fn incomplete() -> Failure {
    host(
        "Internal error: Claude Code ended the turn without the result of a tool that it had called. Send the prompt again."
            .into(),
        object! { "errorKind": "incomplete_tool_call" },
    )
}

/// Something in a prompt that the model cannot be shown.
pub fn unreadable(what: &str) -> Failure {
    Failure {
        blame: Blame::Request,
        message: format!(
            "Claude cannot read this part of the prompt: {what}. Leave it out, or send it as text."
        ),
        data: object! { "field": "prompt", "reason": "unsupported_content" },
    }
}

fn params(message: String, data: Object) -> Failure {
    Failure {
        blame: Blame::Request,
        message: format!("Invalid params: {message}"),
        data,
    }
}

/// An option that is not there, or not with this model.
pub fn option(id: &str) -> Failure {
    params(format!("Unknown config option: {id}"), Object::new())
}

/// A value that an option cannot have.
pub fn value(id: &str, value: &str) -> Failure {
    params(
        format!("Invalid value for config option {id}: {value}"),
        Object::new(),
    )
}

/// A switch wants yes or no.
pub fn no_switch(id: &str, value: &str) -> Failure {
    params(
        format!("Config option {id} takes a boolean value, but received: \"{value}\""),
        object! { "configId": id, "value": value },
    )
}

/// The program would not do it.
pub fn setting(error: &str) -> Failure {
    host(
        format!("Claude Code did not change the setting: {error}"),
        object! { "source": "claude", "code": "setting_failed" },
    )
}

/// A session that is not stored.
pub fn unknown(id: &str) -> Failure {
    Failure {
        blame: Blame::Absent,
        message: "Resource not found".into(),
        data: object! { "sessionId": id },
    }
}

/// A session that has a process here.
pub fn open_already(id: &str) -> Failure {
    params(
        format!("session {id} is open already; load it instead of making a new one"),
        object! { "sessionId": id },
    )
}

/// A working folder that is none.
pub fn no_folder(cwd: &str) -> Failure {
    Failure {
        blame: Blame::Request,
        message: format!(
            "Invalid params: `cwd` does not exist on the machine running the agent: {cwd}"
        ),
        data: object! { "cwd": cwd },
    }
}

/// A message that a session does not have.
pub fn no_message(point: Option<&ForkPoint>) -> Failure {
    let id = point.map_or("", |point| &*point.message_id);
    params(
        format!("No message of the session is the one to fork at: {id}"),
        object! { "messageId": id },
    )
}

/// A cursor that no list gave.
pub fn cursor(cursor: &str) -> Failure {
    Failure {
        blame: Blame::Request,
        message: "This cursor is not from a list. Leave it out to begin at the first page.".into(),
        data: object! { "cursor": cursor },
    }
}

/// Nothing says where sessions are.
pub fn nowhere() -> Failure {
    host(
        "Nobody knows where Claude Code keeps its sessions. Set HOME or CLAUDE_CONFIG_DIR.".into(),
        object! { "source": "claude", "code": "no_config_folder" },
    )
}

/// The stored sessions cannot be read or changed.
pub fn storage(refusal: &FileRefusal) -> Failure {
    let (why, code) = match refusal {
        FileRefusal::NotAllowed => ("may not be opened", "not_allowed"),
        FileRefusal::NotRegular => ("are no regular files", "not_regular"),
        FileRefusal::Error(name) => ("cannot be used", name.as_str()),
    };
    host(
        format!("The stored sessions of Claude Code {why} ({code})."),
        object! { "source": "claude", "code": "storage_failed", "reason": code },
    )
}

/// Something went wrong here.
pub fn unforeseen() -> Failure {
    host(
        "The stored session could not be handled; nothing else is affected.".into(),
        object! { "source": "adapter", "code": "internal_failure" },
    )
}

/// A way to sign in that there is not.
pub fn sign_in(method: &str) -> Failure {
    params(
        format!("Unsupported authentication method: {method}"),
        object! { "methodId": method },
    )
}

/// Nobody was signed out.
pub fn sign_out(said: &str) -> Failure {
    host(
        "Claude Code could not sign out. Run `claude auth logout` in a terminal.".into(),
        object! { "source": "claude", "code": "logout_failed", "stderr": said },
    )
}

/// More is watched than can be.
pub fn too_many_watches() -> Failure {
    params(
        "Too many session lists are watched. Unsubscribe from some first.".into(),
        object! { "reason": "too_many_subscriptions" },
    )
}

/// Part of a provider that is not known.
pub fn provider(field: &str, value: &str) -> Failure {
    params(
        format!("Unknown {field}: {value}"),
        Object::new().with(field, value),
    )
}

/// Vertex AI needs to know more.
pub fn no_vertex() -> Failure {
    params(
        "Vertex AI needs `_meta.claudeCode.vertex` with `projectId` and `region`.".into(),
        object! { "apiType": "vertex" },
    )
}

/// An address that is none.
pub fn address(url: &str) -> Failure {
    params(
        "The address of a provider begins with http:// or https://.".into(),
        object! { "baseUrl": url },
    )
}

/// A header field that is none. Its value may be secret.
pub fn header(name: &str) -> Failure {
    params(
        "A header field has a name without a colon, and no line break.".into(),
        object! { "header": name },
    )
}

/// Nobody is to work with a subscription.
pub fn subscription() -> Failure {
    Failure {
        blame: Blame::SignedOut,
        message: "Claude subscriptions cannot be used here. Sign in with an API key or a gateway."
            .into(),
        data: object! { "reason": "claude_subscription_not_supported" },
    }
}

/// The process says why it cannot start (section 4).
pub fn startup(reason: &str, said: &str) -> Failure {
    let blame = match reason {
        "gateway_signin_required" | "org_pin_mismatch" | "org_config_refused" => Blame::SignedOut,
        "cwd_unavailable" => Blame::Request,
        _ => Blame::Host,
    };
    Failure {
        blame,
        message: match said {
            "" => format!("Claude Code could not start the session ({reason})."),
            said => format!("Claude Code could not start the session: {said}"),
        },
        data: object! { "startupFailureReason": reason },
    }
}

/// The adapter is about to end.
pub fn closing() -> Failure {
    host(
        "The adapter is shutting down.".into(),
        object! { "source": "adapter", "code": "closing" },
    )
}
