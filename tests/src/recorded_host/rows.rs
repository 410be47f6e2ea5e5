//! The transcript that a recording holds: rows put together from the fragments found
//! anywhere in it, and pages cut from them as the Host cuts pages.
//!
//! Pure. Invariant: a page is cut from whole rows only; a row that the recording does not
//! hold whole is never invented (tests may [`Rows::supply`] one).

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::recording::{Recording, Step};

/// Most fragments of a page, as the Host limits them.
const FRAGMENTS: usize = 256;

/// Where a row lives: in the durable transcript, or in the overlay of one subscription.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shelf {
    /// The durable transcript.
    Durable,
    /// The overlay frozen when this subscription was opened.
    Overlay(String),
}

#[derive(Clone, Debug, Default)]
struct Row {
    parts: BTreeMap<u64, Vec<u8>>,
    total: u64,
    digest: bool,
}

/// Every row of a recording.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    shelves: BTreeMap<Shelf, BTreeMap<u64, Row>>,
}

/// What a client asks of `session.transcript.page`, after its cursor was read.
#[derive(Clone, Debug)]
pub struct Walk {
    /// Which subscription.
    pub subscription: String,
    /// Whose transcript.
    pub session: String,
    /// `durable` or `overlay`.
    pub source: String,
    /// Towards older rows (their tails first), or newer ones (their heads first).
    pub older: bool,
    /// Last row that may be shown.
    pub through: Option<u64>,
    /// Where the walk goes on: row and byte offset. For `older` the bytes before the
    /// offset come next, for `newer` those from it.
    pub place: Option<(u64, u64)>,
    /// Bytes of a page.
    pub budget: u64,
}

impl Rows {
    /// Collects every fragment of `recording`.
    pub fn collect(recording: &Recording) -> Rows {
        let mut rows = Rows::default();
        // Which overlay a page belongs to is said in the request.
        let mut asked: BTreeMap<String, String> = BTreeMap::new();
        for step in &recording.steps {
            match step {
                Step::Client(frame) => {
                    if let (Some(id), Some(subscription)) = (
                        frame.request_id(),
                        frame.value["input"]["subscriptionId"].as_str(),
                    ) {
                        asked.insert(id.to_owned(), subscription.to_owned());
                    }
                }
                Step::Host(frame) => {
                    let result = &frame.value["result"];
                    let subscription = result["subscriptionId"]
                        .as_str()
                        .map(str::to_owned)
                        .or_else(|| asked.get(frame.request_id()?).cloned())
                        .unwrap_or_default();
                    for page in [
                        result,
                        &result["transcript"]["durable"],
                        &result["transcript"]["overlay"],
                    ] {
                        rows.take(page, &subscription);
                    }
                }
                Step::Opened | Step::Closed => {}
            }
        }
        rows
    }

    /// Adds what a recording lacks: the bytes of a durable row from `offset` on.
    pub fn supply(&mut self, shelf: Shelf, sequence: u64, offset: u64, total: u64, bytes: &[u8]) {
        let row = self
            .shelves
            .entry(shelf)
            .or_default()
            .entry(sequence)
            .or_default();
        row.total = total;
        row.parts.insert(offset, bytes.to_vec());
    }

    /// How many rows of `shelf` are known, whole or in part.
    pub fn count(&self, shelf: &Shelf) -> u64 {
        self.shelves
            .get(shelf)
            .and_then(|rows| rows.keys().next_back())
            .map_or(0, |last| last + 1)
    }

    /// A page. `rewrite` turns the recording's ids into the client's.
    ///
    /// # Errors
    /// The number of a row that would be shown but that the recording does not hold whole.
    pub fn page(&self, walk: &Walk, rewrite: &dyn Fn(&str) -> String) -> Result<Value, u64> {
        let shelf = match walk.source.as_str() {
            "overlay" => Shelf::Overlay(walk.subscription.clone()),
            _ => Shelf::Durable,
        };
        let mut fragments = Vec::new();
        let mut left = walk.budget;
        let mut place = walk.place;
        while let Some((row, at)) = place {
            if left == 0 || fragments.len() == FRAGMENTS {
                break;
            }
            let known = self
                .shelves
                .get(&shelf)
                .and_then(|rows| rows.get(&row))
                .ok_or(row)?;
            let text = rewrite(&known.whole().ok_or(row)?).into_bytes();
            let total = text.len() as u64;
            let (start, end) = if walk.older {
                let end = at.min(total);
                (end.saturating_sub(left), end)
            } else {
                (at, total.min(at + left))
            };
            left -= end - start;
            fragments.push(fragment(
                &shelf,
                row,
                start,
                &text[start as usize..end as usize],
                &text,
                known.digest,
            ));
            place = match walk.older {
                true if start > 0 => Some((row, start)),
                true => row.checked_sub(1).map(|row| (row, u64::MAX)),
                false if end < total => Some((row, end)),
                false => walk
                    .through
                    .filter(|through| row < *through)
                    .map(|_| (row + 1, 0)),
            };
        }
        Ok(json!({
            "kind": "page",
            "sessionId": walk.session,
            "source": walk.source,
            "direction": if walk.older { "older" } else { "newer" },
            "throughSequence": walk.through,
            "rawBytes": walk.budget - left,
            "fragments": fragments,
            "nextCursor": place.map(|place| cursor(walk, place)),
        }))
    }

    fn take(&mut self, page: &Value, subscription: &str) {
        for fragment in page["fragments"].as_array().into_iter().flatten() {
            let (shelf, key) = match fragment["kind"].as_str() {
                Some("durable") => (Shelf::Durable, "sequence"),
                Some("overlay") => (Shelf::Overlay(subscription.to_owned()), "messageIndex"),
                _ => continue,
            };
            let number = |key: &str| fragment[key].as_u64().expect("a number in a fragment");
            let data = fragment["data"].as_str().expect("data of a fragment");
            let bytes = STANDARD.decode(data).expect("base64 in a fragment");
            let row = self
                .shelves
                .entry(shelf)
                .or_default()
                .entry(number(key))
                .or_default();
            row.total = number("totalBytes");
            row.digest = fragment["payloadDigest"].is_string();
            let part = row.parts.entry(number("byteOffset")).or_default();
            if part.len() < bytes.len() {
                *part = bytes;
            }
        }
    }
}

impl Row {
    /// The row's text, if its parts cover it.
    fn whole(&self) -> Option<String> {
        let mut text: Vec<u8> = Vec::new();
        for (offset, bytes) in &self.parts {
            let skip = (text.len() as u64).checked_sub(*offset)?;
            text.extend_from_slice(bytes.get(skip as usize..).unwrap_or_default());
        }
        (text.len() as u64 == self.total).then(|| String::from_utf8(text).expect("rows are UTF-8"))
    }
}

fn fragment(
    shelf: &Shelf,
    row: u64,
    offset: u64,
    part: &[u8],
    whole: &[u8],
    digest: bool,
) -> Value {
    let data = STANDARD.encode(part);
    match shelf {
        Shelf::Durable => json!({
            "kind": "durable", "sequence": row, "byteOffset": offset, "totalBytes": whole.len(),
            "payloadDigest": digest.then(|| format!("sha256:{}", hex(&Sha256::digest(whole)))),
            "data": data,
        }),
        Shelf::Overlay(_) => json!({
            "kind": "overlay", "messageIndex": row, "byteOffset": offset, "totalBytes": whole.len(),
            "data": data,
        }),
    }
}

/// As the Host writes them: base64url of JSON, a dot, a signature that only it can check.
fn cursor(walk: &Walk, (position, offset): (u64, u64)) -> String {
    // `u64::MAX` stands for "the end of that row", which an older walk reads as its tail.
    let offset = if offset == u64::MAX {
        Value::Null
    } else {
        json!(offset)
    };
    let payload = json!({
        "version": 1, "subscriptionId": walk.subscription, "sessionId": walk.session,
        "source": walk.source, "direction": if walk.older { "older" } else { "newer" },
        "throughSequence": walk.through, "position": position, "byteOffset": offset,
    });
    let payload = URL_SAFE_NO_PAD.encode(payload.to_string());
    let seal = URL_SAFE_NO_PAD.encode(Sha256::digest(&payload));
    format!("{payload}.{seal}")
}

/// Row and offset of a cursor, the recording's or one of ours.
pub fn read_cursor(cursor: &str) -> Option<(u64, u64)> {
    let payload = URL_SAFE_NO_PAD.decode(cursor.split_once('.')?.0).ok()?;
    let payload: Value = serde_json::from_slice(&payload).ok()?;
    Some((
        payload["position"].as_u64()?,
        payload["byteOffset"].as_u64().unwrap_or(u64::MAX),
    ))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
