//! Pages of a transcript: how rows are cut to a byte budget, in either
//! direction, and the signed cursors between pages. Pure, except that a page
//! is asked for through a subscription. Invariant: reading every page of one
//! walk gives every byte of every row exactly once.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ids;
use super::subscription::Subscription;
use super::wire::{CHUNKED_ROW_BYTES, PAGE_FRAGMENTS, Refusal, code, refuse};
use super::world::State;

/// One stored message, as the text whose bytes are paged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) text: String,
    /// Only rows that are stored in chunks have one.
    digest: Option<String>,
}

impl Row {
    pub(crate) fn new(row: &Value) -> Row {
        let text = row.to_string();
        let digest = (text.len() > CHUNKED_ROW_BYTES).then(|| ids::digest(text.as_bytes()));
        Row { text, digest }
    }
}

/// Which rows a walk goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    Durable,
    Overlay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Direction {
    Older,
    Newer,
}

/// Everything that makes one walk; every page of it agrees on these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Walk {
    version: u8,
    subscription_id: String,
    session_id: String,
    source: Source,
    direction: Direction,
    through_sequence: Option<u64>,
}

/// Where a walk stands: `older` takes the bytes before `byte_offset` of the row
/// at `position` next, `newer` those from it on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cursor {
    #[serde(flatten)]
    walk: Walk,
    position: usize,
    byte_offset: usize,
}

impl Walk {
    pub(crate) fn new(
        subscription: &Subscription,
        source: Source,
        direction: Direction,
        through: Option<u64>,
    ) -> Walk {
        Walk {
            version: 1,
            subscription_id: subscription.id.clone(),
            session_id: subscription.session.clone(),
            source,
            direction,
            through_sequence: through,
        }
    }
}

/// The first page of an `older` walk, from the end of `rows`.
pub(crate) fn tail(walk: &Walk, rows: &[Row], budget: usize, key: &str) -> Value {
    let start = match rows.len() {
        0 => None,
        count => Some((count - 1, rows[count - 1].text.len())),
    };
    page(walk, rows, start, budget, key)
}

/// `session.transcript.page`
pub(crate) fn serve(state: &mut State, connection: u64, input: &Value) -> Result<Value, Refusal> {
    let id = input["subscriptionId"].as_str().unwrap_or_default();
    let Some(subscription) = state.subscription(connection, id) else {
        return refuse(code::NOT_FOUND, "Session subscription was not found");
    };
    let source = if input["source"] == "overlay" {
        Source::Overlay
    } else {
        Source::Durable
    };
    let direction = if input["direction"] == "newer" {
        Direction::Newer
    } else {
        Direction::Older
    };
    let through = input["throughSequence"].as_u64();
    let budget = input["maxBytes"].as_u64().unwrap_or(1) as usize;
    let walk = Walk::new(subscription, source, direction, through);
    let session = state.sessions.get(&subscription.session);
    let durable = session.map_or(&[][..], |session| &session.rows);
    let rows = match source {
        Source::Durable => match through {
            None => &[][..],
            Some(through) if through < durable.len() as u64 => &durable[..=through as usize],
            Some(_) => return refuse(code::INVALID, "Transcript page is ahead of the Session"),
        },
        Source::Overlay => match &subscription.overlay {
            Some(overlay) if subscription.opened_through == through => overlay,
            Some(_) => return refuse(code::INVALID, "Transcript overlay has another watermark"),
            None => return refuse(code::INVALID, "Transcript overlay was released"),
        },
    };
    let start = match input["cursor"].as_str() {
        Some(cursor) => match open_cursor(cursor, &state.signing_key) {
            Some(cursor) if cursor.walk == walk => Some((cursor.position, cursor.byte_offset)),
            _ => return refuse(code::INVALID, "Transcript cursor is not of this walk"),
        },
        None => beginning(direction, rows, input["anchorSequence"].as_u64()),
    };
    Ok(page(&walk, rows, start, budget, &state.signing_key))
}

/// Where a walk without a cursor begins. An anchor is excluded from it.
fn beginning(direction: Direction, rows: &[Row], anchor: Option<u64>) -> Option<(usize, usize)> {
    match direction {
        Direction::Newer => {
            let first = anchor.map_or(0, |anchor| anchor as usize + 1);
            (first < rows.len()).then_some((first, 0))
        }
        Direction::Older => {
            let end = anchor.map_or(rows.len(), |anchor| rows.len().min(anchor as usize));
            let last = end.checked_sub(1)?;
            Some((last, rows[last].text.len()))
        }
    }
}

fn page(
    walk: &Walk,
    rows: &[Row],
    start: Option<(usize, usize)>,
    budget: usize,
    key: &str,
) -> Value {
    let mut fragments = Vec::new();
    let mut left = budget;
    let mut at = start;
    while let Some((position, offset)) = at {
        if left == 0 || fragments.len() == PAGE_FRAGMENTS {
            break;
        }
        let row = &rows[position];
        let (from, to) = match walk.direction {
            Direction::Older => (offset.saturating_sub(left), offset),
            Direction::Newer => (offset, row.text.len().min(offset + left)),
        };
        fragments.push(fragment(walk.source, position, row, from, to));
        left -= to - from;
        at = match walk.direction {
            Direction::Older if from > 0 => Some((position, from)),
            Direction::Older => position
                .checked_sub(1)
                .map(|before| (before, rows[before].text.len())),
            Direction::Newer if to < row.text.len() => Some((position, to)),
            Direction::Newer => (position + 1 < rows.len()).then_some((position + 1, 0)),
        };
    }
    let next = at.map(|(position, byte_offset)| {
        seal(
            &Cursor {
                walk: walk.clone(),
                position,
                byte_offset,
            },
            key,
        )
    });
    json!({
        "kind": "page",
        "sessionId": walk.session_id,
        "source": walk.source,
        "direction": walk.direction,
        "throughSequence": walk.through_sequence,
        "rawBytes": budget - left,
        "fragments": fragments,
        "nextCursor": next,
    })
}

fn fragment(source: Source, position: usize, row: &Row, from: usize, to: usize) -> Value {
    let data = STANDARD.encode(&row.text.as_bytes()[from..to]);
    match source {
        Source::Durable => json!({"kind": "durable", "sequence": position, "byteOffset": from,
            "totalBytes": row.text.len(), "payloadDigest": row.digest, "data": data}),
        Source::Overlay => json!({"kind": "overlay", "messageIndex": position, "byteOffset": from,
            "totalBytes": row.text.len(), "data": data}),
    }
}

fn seal(cursor: &Cursor, key: &str) -> String {
    let text = serde_json::to_string(cursor).unwrap_or_default();
    let text = URL_SAFE_NO_PAD.encode(text);
    let signature = ids::signature(key, &text);
    format!("{text}.{signature}")
}

fn open_cursor(sealed: &str, key: &str) -> Option<Cursor> {
    let (text, signature) = sealed.split_once('.')?;
    if ids::signature(key, text) != signature {
        return None;
    }
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}
