//! Stored rows to facts.
//!
//! Pure. Invariant: the same row gives the same facts, whether its turn is ours, another
//! client's or long over; rows of kinds that are not shown give none.

use crate::host::Fact;
use crate::projection::{Call, Speaker, ToolFact};

use super::results;
use super::wire::current::Row;

/// What a row says, in order.
pub fn facts(row: &Row<'_>, tell: &mut dyn FnMut(Fact<'_>)) {
    match &*row.kind {
        "user" => {
            let text = row.display_text.as_deref().or(row.text.as_deref());
            if let Some(text) = text {
                tell(Fact::TextIs {
                    speaker: Speaker::User,
                    message_id: &row.id,
                    text,
                });
            }
        }
        "assistant" => {
            let message_id = &*row.id;
            let thinking = row.thinking.as_ref().map_or("", |thinking| &thinking.text);
            for (speaker, text) in [
                (Speaker::Thought, thinking),
                (Speaker::Agent, row.text.as_deref().unwrap_or_default()),
            ] {
                tell(Fact::TextIs {
                    speaker,
                    message_id,
                    text,
                });
            }
        }
        "tool_call" => {
            let name = row.tool_name.as_deref().unwrap_or(&row.id);
            let kind = results::kind(row.activity_kind.as_deref());
            let places = row.args.map(|args| results::places(kind, args));
            let fact = ToolFact::Called {
                id: &row.id,
                call: Call {
                    name,
                    display_name: row.display_name.as_deref(),
                    kind,
                    operation_id: row.operation_id.as_deref(),
                    step_id: row.step_id.as_deref(),
                    parent: row.parent_tool_call_id.as_deref(),
                    places: places.as_deref().unwrap_or_default(),
                },
                args: row.args.and_then(|args| results::raw_input(name, args)),
                input_preview: row.args.and_then(|args| results::input_preview(name, args)),
            };
            tell(Fact::Tool(fact));
        }
        "tool_result" => {
            let (Some(id), Some(content)) = (row.tool_use_id.as_deref(), row.content) else {
                return;
            };
            let formatted = results::result(content, row.is_error);
            let fact = ToolFact::Result {
                id,
                outcome: formatted.outcome,
                text: formatted.text,
                raw: content,
                duration_ms: row.duration_ms,
                details: formatted.details,
            };
            tell(Fact::Tool(fact));
        }
        _ => {}
    }
}
