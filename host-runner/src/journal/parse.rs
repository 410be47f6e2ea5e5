//! Inputs of a recording, read back. The counterpart of [`super::text`]; effects are not
//! read but compared as JSON.
//!
//! Invariant: anything that `text` did not write is an error that names the place.

use anyhow::{Context, Result, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::words::*;

/// One input.
///
/// # Errors
/// When this is no input that `text` wrote.
pub fn input(value: Value) -> Result<Input> {
    let (tag, value) = variant(value)?;
    Ok(match tag.as_str() {
        "acp" => Input::Acp(acp_arrival(value)?),
        "host" => {
            let (channel, arrival) = pair(value)?;
            Input::Host((channel, host_arrival(arrival)?))
        }
        "file" => {
            let (handle, arrival) = pair(value)?;
            Input::File((handle, file_arrival(arrival)?))
        }
        "expired" => Input::Expired(plain(value)?),
        "poison" => Input::Poison(origin(value)?),
        other => bail!("`{other}` is no input"),
    })
}

/// Bytes, as text or base64.
///
/// # Errors
/// When it is neither.
pub fn bytes(value: Value) -> Result<Vec<u8>> {
    match value {
        Value::String(text) => Ok(text.into_bytes()),
        value => match variant(value)? {
            (tag, Value::String(text)) if tag == "base64" => {
                BASE64.decode(text).context("bytes are not base64")
            }
            _ => bail!("bytes are a string or base64"),
        },
    }
}

fn origin(value: Value) -> Result<Origin> {
    let (tag, value) = variant(value)?;
    Ok(match tag.as_str() {
        "acp" => Origin::Acp(bytes(value)?),
        "host" => {
            let (channel, line) = pair(value)?;
            Origin::Host((channel, bytes(line)?))
        }
        "file" => Origin::File(plain(value)?),
        "timer" => Origin::Timer(plain(value)?),
        other => bail!("`{other}` is no origin"),
    })
}

fn acp_arrival(value: Value) -> Result<AcpArrival> {
    let (tag, value) = variant(value)?;
    Ok(match tag.as_str() {
        "bytes" => AcpArrival::Bytes(bytes(value)?),
        "drained" => AcpArrival::Drained(plain(value)?),
        "ended" => AcpArrival::Ended(ending(value)?),
        other => bail!("`{other}` is no arrival from the editor"),
    })
}

fn ending(value: Value) -> Result<Ending> {
    let (tag, value) = variant(value)?;
    Ok(match tag.as_str() {
        "eof" => Ending::Eof,
        "broken" => Ending::Broken(plain(value)?),
        other => bail!("`{other}` is no ending"),
    })
}

fn host_arrival(value: Value) -> Result<HostArrival> {
    let (tag, value) = variant(value)?;
    Ok(match tag.as_str() {
        "opened" => HostArrival::Opened(plain(value)?),
        "refused" => HostArrival::Refused(host_refusal(value)?),
        "response" => HostArrival::Response(plain(value)?),
        "bytes" => HostArrival::Bytes(bytes(value)?),
        "diagnostic" => HostArrival::Diagnostic(bytes(value)?),
        "drained" => HostArrival::Drained(plain(value)?),
        "exited" => HostArrival::Exited(plain(value)?),
        "ended" => HostArrival::Ended(ending(value)?),
        other => bail!("`{other}` is no arrival from a Host"),
    })
}

fn host_refusal(value: Value) -> Result<HostRefusal> {
    let (tag, value) = variant(value)?;
    Ok(match tag.as_str() {
        "not-allowed" => HostRefusal::NotAllowed,
        "absent" => HostRefusal::Absent,
        "no-folder" => HostRefusal::NoFolder,
        "stale" => HostRefusal::Stale,
        "insecure" => HostRefusal::Insecure(plain(value)?),
        "failed" => HostRefusal::Failed(plain(value)?),
        other => bail!("`{other}` is no refusal of a channel"),
    })
}

fn file_arrival(value: Value) -> Result<FileArrival> {
    let (tag, value) = variant(value)?;
    Ok(match tag.as_str() {
        "facts" => FileArrival::Facts(facts(&value)?),
        "refused" => FileArrival::Refused(file_refusal(value)?),
        "data" => {
            let (offset, read) = pair(value)?;
            FileArrival::Data((offset, bytes(read)?))
        }
        "entries" => {
            let entries: Vec<(String, Value)> = plain(value)?;
            let entry = |(name, found): (String, Value)| Ok((name, facts(&found)?));
            FileArrival::Entries(entries.into_iter().map(entry).collect::<Result<_>>()?)
        }
        "done" => FileArrival::Done,
        other => bail!("`{other}` is no answer about a file"),
    })
}

fn file_refusal(value: Value) -> Result<FileRefusal> {
    let (tag, value) = variant(value)?;
    Ok(match tag.as_str() {
        "not-allowed" => FileRefusal::NotAllowed,
        "not-regular" => FileRefusal::NotRegular,
        "error" => FileRefusal::Error(plain(value)?),
        other => bail!("`{other}` is no refusal of a file"),
    })
}

fn facts(value: &Value) -> Result<FileFacts> {
    let kind: String = field(value, "kind")?;
    Ok(FileFacts {
        kind: match kind.as_str() {
            "file" => FileKind::File,
            "folder" => FileKind::Folder,
            "other" => FileKind::Other,
            other => bail!("`{other}` is no kind of file"),
        },
        canonical_path: field(value, "canonical-path")?,
        size: field(value, "size")?,
        modified: field(value, "modified")?,
        identity: field(value, "identity")?,
    })
}

/// An object with one key, or a string.
fn variant(value: Value) -> Result<(String, Value)> {
    match value {
        Value::String(tag) => Ok((tag, Value::Null)),
        Value::Object(object) if object.len() == 1 => {
            object.into_iter().next().context("a variant has one key")
        }
        other => bail!("a variant has one key, and this is {other}"),
    }
}

fn pair<T: DeserializeOwned>(value: Value) -> Result<(T, Value)> {
    plain(value)
}

fn plain<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(|error| anyhow!("a value is of the wrong kind: {error}"))
}

fn field<T: DeserializeOwned>(value: &Value, name: &str) -> Result<T> {
    let value = value
        .get(name)
        .with_context(|| format!("`{name}` is missing"))?;
    plain(value.clone())
}
