//! Identifiers the Host chooses, and digests. Invariant: an identifier is
//! random, so two runs of the Host never share one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// A random UUID (version 4), the form of most Host identifiers.
pub(crate) fn uuid() -> String {
    let mut bytes = random::<16>();
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = hex(&bytes);
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

/// `toolop_` and 32 hexadecimal digits: the Host's own name of a tool run.
pub(crate) fn tool_operation() -> String {
    format!("toolop_{}", hex(&random::<16>()))
}

/// The model's name of a tool call, as OpenAI-like providers form it.
pub(crate) fn tool_call() -> String {
    format!("call_{}", &hex(&random::<4>()))
}

/// The stored name of an uploaded attachment.
pub(crate) fn attachment() -> String {
    format!("attachment-{}", hex(&random::<16>()))
}

/// `sha256:` and 64 hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// 64 hexadecimal digits of randomness: a root id, a signing key.
pub(crate) fn root() -> String {
    hex(&random::<32>())
}

/// A signature that only the holder of `key` can make (HMAC with SHA-256, RFC 2104).
pub(crate) fn signature(key: &str, text: &str) -> String {
    let mut pad = [0u8; 64];
    pad[..key.len().min(64)].copy_from_slice(&key.as_bytes()[..key.len().min(64)]);
    let inner = Sha256::new()
        .chain_update(pad.map(|byte| byte ^ 0x36))
        .chain_update(text)
        .finalize();
    let outer = Sha256::new()
        .chain_update(pad.map(|byte| byte ^ 0x5c))
        .chain_update(inner)
        .finalize();
    URL_SAFE_NO_PAD.encode(outer)
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
