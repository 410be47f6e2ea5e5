//! Slices of stored rows to whole rows. Pure: pages in, rows out.
//!
//! Invariants: a row comes out whole or not at all; a slice that does not fit where the
//! last one ended is an error, never a guess.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::wire::current::{Fragment, Page};
use crate::limits;

/// A page that contradicts itself or the one before it.
#[derive(Debug, PartialEq, Eq)]
pub struct Torn;

/// Durable rows in rising order; a row cut by the page's budget gives its head first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rising {
    open: Option<Slice>,
}

/// The part of a row that has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Slice {
    row: u64,
    total: u64,
    #[serde(with = "crate::snapshot::bytes")]
    bytes: Vec<u8>,
}

impl Rising {
    /// Takes a page; gives the rows that it completes, with their sequence.
    ///
    /// # Errors
    /// [`Torn`] when slices do not join, a row is larger than [`limits::MAKA_ROW`], or a
    /// digest does not match.
    pub fn take(&mut self, page: &Page<'_>) -> Result<Vec<(u64, Vec<u8>)>, Torn> {
        let mut rows = Vec::new();
        for fragment in &page.fragments {
            let row = fragment.sequence.ok_or(Torn)?;
            let data = decode(fragment)?;
            let slice = match self.open.take() {
                None if fragment.byte_offset == 0 => Slice {
                    row,
                    total: fragment.total_bytes,
                    bytes: data,
                },
                Some(mut slice)
                    if slice.row == row
                        && slice.total == fragment.total_bytes
                        && slice.bytes.len() as u64 == fragment.byte_offset =>
                {
                    slice.bytes.extend_from_slice(&data);
                    slice
                }
                _ => return Err(Torn),
            };
            if slice.bytes.len() as u64 > slice.total {
                return Err(Torn);
            }
            if slice.bytes.len() as u64 == slice.total {
                verify(&slice.bytes, fragment.payload_digest.as_ref())?;
                rows.push((row, slice.bytes));
            } else {
                self.open = Some(slice);
            }
        }
        Ok(rows)
    }

    /// Whether a row is half there.
    #[cfg(test)]
    fn open(&self) -> bool {
        self.open.is_some()
    }
}

/// Overlay rows, newest first; a cut row gives its tail first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overlay {
    rows: BTreeMap<u64, Falling>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Falling {
    total: u64,
    #[serde(with = "crate::snapshot::bytes")]
    tail: Vec<u8>,
}

impl Overlay {
    /// Takes a page.
    ///
    /// # Errors
    /// [`Torn`] when slices do not join, or there are more rows than the Host may have.
    pub fn take(&mut self, page: &Page<'_>) -> Result<(), Torn> {
        for fragment in &page.fragments {
            let index = fragment.message_index.ok_or(Torn)?;
            let data = decode(fragment)?;
            let row = self.rows.entry(index).or_insert_with(|| Falling {
                total: fragment.total_bytes,
                tail: Vec::new(),
            });
            let end = fragment
                .byte_offset
                .checked_add(data.len() as u64)
                .ok_or(Torn)?;
            let tail = row.tail.len() as u64;
            if row.total != fragment.total_bytes || end.checked_add(tail) != Some(row.total) {
                return Err(Torn);
            }
            let mut joined = data;
            joined.append(&mut row.tail);
            row.tail = joined;
        }
        if self.rows.len() as u64 > limits::MAKA_OVERLAY_ROWS {
            return Err(Torn);
        }
        Ok(())
    }

    /// The rows in order.
    ///
    /// # Errors
    /// [`Torn`] when one is not whole.
    pub fn finish(self) -> Result<Vec<Vec<u8>>, Torn> {
        let whole = |row: Falling| {
            if row.tail.len() as u64 == row.total {
                Ok(row.tail)
            } else {
                Err(Torn)
            }
        };
        self.rows.into_values().map(whole).collect()
    }
}

fn decode(fragment: &Fragment<'_>) -> Result<Vec<u8>, Torn> {
    if fragment.total_bytes > limits::MAKA_ROW {
        return Err(Torn);
    }
    match STANDARD.decode(fragment.data.as_bytes()) {
        Ok(data) if !data.is_empty() => Ok(data),
        _ => Err(Torn),
    }
}

fn verify(row: &[u8], digest: Option<&Cow<'_, str>>) -> Result<(), Torn> {
    let Some(digest) = digest else { return Ok(()) };
    let hash = Sha256::digest(row);
    let mut hex = String::from("sha256:");
    for byte in hash {
        hex.push_str(&format!("{byte:02x}"));
    }
    if hex == **digest { Ok(()) } else { Err(Torn) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use serde_json::json;

    fn page(fragments: serde_json::Value) -> String {
        serde_json::to_string(&json!({"fragments": fragments, "nextCursor": null})).unwrap()
    }

    fn slice(row: u64, offset: u64, total: u64, data: &str) -> serde_json::Value {
        json!({"sequence": row, "byteOffset": offset, "totalBytes": total,
               "payloadDigest": null, "data": STANDARD.encode(data)})
    }

    fn take(rising: &mut Rising, text: &str) -> Result<Vec<(u64, Vec<u8>)>, Torn> {
        let page: Page<'_> = serde_json::from_str(text).unwrap();
        rising.take(&page)
    }

    #[test]
    fn given_a_row_cut_over_two_pages_when_taken_then_it_comes_out_once_and_whole() {
        let mut rising = Rising::default();
        let first = page(json!([slice(4, 0, 2, "{}"), slice(5, 0, 6, "{\"a\"")]));
        assert_eq!(take(&mut rising, &first), Ok(vec![(4, b"{}".to_vec())]));
        assert!(rising.open());
        let second = page(json!([slice(5, 4, 6, ":1")]));
        assert_eq!(
            take(&mut rising, &second),
            Ok(vec![(5, b"{\"a\":1".to_vec())])
        );
        assert!(!rising.open());
    }

    #[test]
    fn given_slices_that_do_not_join_when_taken_then_torn() {
        for fragments in [
            json!([slice(1, 3, 6, "abc")]),
            json!([slice(1, 0, 6, "abc"), slice(2, 0, 3, "abc")]),
            json!([slice(1, 0, 6, "abc"), slice(1, 2, 6, "abcd")]),
            json!([slice(1, 0, 2, "abc")]),
            json!([slice(1, 0, 6, "abc"), slice(1, 3, 7, "abcd")]),
            json!([{"sequence": 1, "byteOffset": 0, "totalBytes": 2, "data": "##"}]),
            json!([{"byteOffset": 0, "totalBytes": 2, "data": STANDARD.encode("ab")}]),
            json!([{"sequence": 1, "byteOffset": 0, "totalBytes": 2, "data": STANDARD.encode("ab"),
                    "payloadDigest": "sha256:00"}]),
        ] {
            assert_eq!(take(&mut Rising::default(), &page(fragments)), Err(Torn));
        }
    }

    #[test]
    fn given_overlay_tails_first_when_taken_then_rows_come_out_in_order() {
        let tail = |index: u64, offset: u64, total: u64, data: &str| {
            json!({"messageIndex": index, "byteOffset": offset, "totalBytes": total,
                   "data": STANDARD.encode(data)})
        };
        let mut overlay = Overlay::default();
        for fragments in [
            json!([tail(1, 2, 4, "cd")]),
            json!([tail(1, 0, 4, "ab"), tail(0, 0, 1, "x")]),
        ] {
            let text = page(fragments);
            overlay.take(&serde_json::from_str(&text).unwrap()).unwrap();
        }
        assert_eq!(overlay.finish(), Ok(vec![b"x".to_vec(), b"abcd".to_vec()]));
    }
}
