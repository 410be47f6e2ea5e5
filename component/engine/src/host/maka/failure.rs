//! The one table of what can go wrong at a Maka Host, in words for people and with the
//! data that programs know from Maka's own adapter (its sections 4.1 and 4.2).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Serialize;
use serde_json::value::RawValue;

use super::wire::current::{self as w, op};
use crate::host::{Blame, Failure};
use crate::json::Object;
use crate::limits;
use crate::object;

fn host(operation: &str, code: &str, message: String) -> Failure {
    Failure {
        blame: Blame::Host,
        message,
        data: object! { "source": "runtime_host", "operation": operation, "code": code },
    }
}

fn extend(failure: Failure, key: &str, value: &impl Serialize) -> Failure {
    Failure {
        data: failure.data.with(key, value),
        ..failure
    }
}

/// A typed error answer of the Host.
pub fn operation(operation: &str, code: &str, message: &str) -> Failure {
    let rejected = matches!(code, "invalid_request" | "not_found");
    let verb = if rejected { "rejected" } else { "could not do" };
    let advice = match code {
        "session_busy" => " Another turn is running: wait for it, or cancel it.",
        "session_archived" => " Unarchive the session in Maka first.",
        "host_draining" => " The Host is shutting down: try again when it is back.",
        _ => "",
    };
    let said = if message.is_empty() { code } else { message };
    Failure {
        blame: if rejected {
            Blame::Request
        } else {
            Blame::Host
        },
        ..host(
            operation,
            code,
            format!("The Runtime Host {verb} {operation}: {said}.{advice}"),
        )
    }
}

/// The connection broke, or an answer took too long.
pub fn interrupted(operation: &str, reason: &str, dispatched: bool) -> Failure {
    let words = if dispatched && reason == "timeout" {
        format!(
            "The Runtime Host did not answer {operation} in time. Whether it was done is not known."
        )
    } else if dispatched {
        format!("The connection to the Runtime Host was lost before {operation} was answered.")
    } else {
        format!("The Runtime Host could not be reached for {operation}.")
    };
    let failure = host(operation, "request_interrupted", words);
    let failure = extend(failure, "reason", &reason);
    extend(
        failure,
        "dispatch",
        &if dispatched {
            "dispatched"
        } else {
            "not_dispatched"
        },
    )
}

/// The feed of a session cannot go on.
pub fn subscription(reason: &str) -> Failure {
    let failure = host(
        op::OPEN,
        "subscription_failure",
        format!("The Runtime Host's feed of this session broke ({reason}). Send the prompt again."),
    );
    extend(failure, "reason", &reason)
}

/// A listing that contradicts itself.
pub fn catalog_read(operation: &str, reason: &str) -> Failure {
    let failure = host(
        operation,
        "catalog_read_failure",
        format!("The Runtime Host's answer to {operation} cannot be used ({reason})."),
    );
    extend(failure, "reason", &reason)
}

/// An answer that does not have the shape of its operation.
pub fn internal(operation: &str) -> Failure {
    host(
        operation,
        "internal_failure",
        format!("The Runtime Host's answer to {operation} cannot be used."),
    )
}

/// A turn that the Host did not start, because skills that the prompt names cannot be loaded.
pub fn blocked(skills: &[&RawValue]) -> Failure {
    let names: Vec<String> = skills
        .iter()
        .filter_map(|skill| {
            let id: Option<String> = serde_json::from_str(skill.get()).ok();
            id.or_else(|| {
                Some(
                    serde_json::from_str::<w::Skill<'_>>(skill.get())
                        .ok()?
                        .id
                        .into(),
                )
            })
        })
        .collect();
    let which = match names.as_slice() {
        [] => "a skill that the prompt names".to_string(),
        names => names.join(", "),
    };
    let message = format!(
        "The turn did not start, because this could not be loaded: {which}. Check it in Maka, or \
         send the prompt without it."
    );
    extend(host(op::START, "blocked", message), "skills", &names)
}

/// No connection; the sentence says what to do.
pub fn connect(reason: &str, sentence: &str) -> Failure {
    let failure = host("connect", "connection_failed", sentence.to_string());
    extend(failure, "reason", &reason)
}

/// The Host speaks another epoch.
pub fn epoch(hosts: u64) -> Failure {
    let failure = connect(
        "incompatible_epoch",
        &format!(
            "The Maka Host speaks compatibility epoch {hosts}, this Airlock speaks {}. \
             Update the older of the two.",
            w::EPOCH
        ),
    );
    let failure = extend(failure, "hostEpoch", &hosts);
    extend(failure, "adapterEpoch", &w::EPOCH)
}

/// Nobody can say what became of a turn.
pub fn outcome_unknown(attempts: u64, cause: Option<Object>) -> Failure {
    let failure = host(
        op::QUERY,
        "outcome_unknown",
        "The turn was sent, but the Runtime Host cannot be asked what became of it. \
         Look at the session before you send the prompt again."
            .to_string(),
    );
    let failure = extend(failure, "reason", &"admission_query_failed");
    let failure = extend(failure, "attempts", &attempts);
    extend(failure, "cause", &cause)
}

/// A question to the user that came to nothing.
pub fn interaction(code: &str, kind: &str, id: &str) -> Failure {
    let why = match code {
        "unsupported_interaction" => "this editor cannot show it",
        "interaction_capacity_exceeded" => "too many questions wait already",
        "invalid_interaction" => "the Runtime Host contradicts itself about it",
        "invalid_interaction_answer" => "the editor's answer does not fit it",
        _ => "the editor could not ask",
    };
    let asked = match kind {
        "" => "something".to_string(),
        kind => format!("a {}", kind.replace('_', " ")),
    };
    Failure {
        blame: Blame::Host,
        message: format!(
            "The agent asked for {asked}, and {why}. The turn was stopped; nothing was \
             approved, and the session goes on."
        ),
        data: object! {
            "source": "adapter", "code": code, "kind": kind, "interactionId": id,
        },
    }
}

/// A prompt that the Host would not take.
pub fn prompt_rejected(sentence: &str) -> Failure {
    Failure {
        blame: Blame::Request,
        message: sentence.to_string(),
        data: object! { "field": "prompt", "reason": "runtime_host_admission_rejected" },
    }
}

/// A session that the Host does not have.
pub fn unknown(session_id: &str) -> Failure {
    let message = format!("The Runtime Host has no session {session_id}. List the sessions anew.");
    Failure {
        blame: Blame::Request,
        ..host(op::CATALOG, "not_found", message)
    }
}

/// A session that was put away.
pub fn archived(session_id: &str) -> Failure {
    let message = format!("The session {session_id} is archived. Unarchive it in Maka first.");
    Failure {
        blame: Blame::Request,
        ..host(op::CATALOG, "archived", message)
    }
}

/// A session that works in another folder.
pub fn other_folder(folder: &str) -> Failure {
    Failure {
        blame: Blame::Request,
        message: format!("The session works in {folder}. Open it there."),
        data: object! { "field": "cwd", "reason": "session_cwd_mismatch" },
    }
}

/// The Host holds no more feeds, and every one is needed.
pub fn no_room() -> Failure {
    host(
        op::OPEN,
        "operation_conflict",
        "A turn runs in each of 16 sessions, and the Runtime Host follows no more at once. \
         Wait for one of them, or close it."
            .to_string(),
    )
}

/// An attachment that cannot be used.
pub fn resource(reason: &str, sentence: String) -> Failure {
    Failure {
        blame: Blame::Request,
        message: sentence,
        data: object! { "field": "prompt", "reason": reason },
    }
}

/// A message for a turn that ended while its attachments were uploaded.
pub fn turn_over() -> Failure {
    Failure {
        blame: Blame::Host,
        message: "The turn ended before the message could reach it. Send it as a prompt."
            .to_string(),
        data: object! { "source": "adapter", "code": "no_running_turn" },
    }
}

/// An option or a value that is not offered.
pub fn setting(field: &str) -> Failure {
    let message = match field {
        "configId" => "There is no such option. Use one of the session's configOptions.",
        "modeId" => "There is no such mode. Use one of the session's availableModes.",
        _ => "The option has no such value. Use one of those that it lists.",
    };
    Failure {
        blame: Blame::Request,
        message: message.to_string(),
        data: object! { "field": field, "reason": "unsupported" },
    }
}

/// The session was closed before what was asked of it was sent.
pub fn unknown_session(session_id: &str) -> Failure {
    Failure {
        blame: Blame::Request,
        message: "The session was closed before this was done.".to_string(),
        data: object! { "reason": "unknown_session", "sessionId": session_id },
    }
}

/// Somebody else changes the session faster than we can.
pub fn revision_conflict(operation: &str) -> Failure {
    let sentence = "Something else keeps changing this session. Try again in a moment.";
    let failure = host(operation, "revision_conflict", sentence.to_string());
    extend(failure, "attempts", &limits::MAKA_CHANGES)
}

/// A record of a session that says too little to change it.
pub fn legacy_session() -> Failure {
    let sentence = "This session is of an older Maka and cannot be configured. Start a new one.";
    host(
        op::CONFIGURE,
        "unsupported_session_projection",
        sentence.to_string(),
    )
}

/// A list cursor that cannot be used.
pub fn cursor(reason: &str) -> Failure {
    let message = match reason {
        "stale_cursor" => "The list has changed. Start listing again without a cursor.",
        "cursor_cwd_mismatch" => "The cursor belongs to a listing of another folder.",
        _ => "The cursor cannot be read. Start listing again without a cursor.",
    };
    Failure {
        blame: Blame::Request,
        message: message.to_string(),
        data: object! { "reason": reason },
    }
}

/// The Host's own cursor is too large to hand on.
pub fn cursor_too_large() -> Failure {
    host(
        op::CATALOG,
        "cursor_too_large",
        "The Runtime Host's list cursor is too large.".to_string(),
    )
}

/// The folder of a listing cannot be looked at.
pub fn folder(errno: &str) -> Failure {
    Failure {
        blame: Blame::Host,
        message: format!("The folder cannot be read ({errno})."),
        data: object! { "source": "filesystem", "operation": "cwd.realpath", "code": errno },
    }
}

/// The adapter is about to end.
pub fn closing(operation: &str) -> Failure {
    host(
        operation,
        "registry_closed",
        "The adapter is shutting down.".to_string(),
    )
}
