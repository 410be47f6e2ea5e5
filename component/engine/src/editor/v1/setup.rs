//! Where a session is to work and with what: `cwd`, `additionalDirectories`, `mcpServers`.
//!
//! Pure. Invariant: every folder that comes out is absolute.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::host::{McpServer, Setup, Transport};
use crate::limits;
use crate::projection::path::absolute;
use crate::rpc::RpcError;

#[derive(Deserialize)]
struct Server<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    name: String,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Vec<Named>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    headers: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    value: String,
}

/// Reads it.
///
/// # Errors
/// The field that cannot be used, and why.
pub fn read(
    cwd: Cow<'_, str>,
    servers: Option<Vec<&RawValue>>,
    folders: Option<Vec<&RawValue>>,
) -> Result<Setup, RpcError> {
    folder(&cwd)?;
    let folders = folders.unwrap_or_default().into_iter().map(more);
    let servers = servers.unwrap_or_default().into_iter().map(server);
    Ok(Setup {
        cwd: cwd.into_owned(),
        folders: folders.collect::<Result<_, _>>()?,
        servers: servers.collect::<Result<_, _>>()?,
        ..Setup::default()
    })
}

/// Checks a working folder.
pub fn folder(cwd: &str) -> Result<(), RpcError> {
    if !absolute(cwd) {
        return Err(RpcError::field(
            "cwd",
            "must_be_absolute",
            "cwd must be an absolute path.",
        ));
    }
    if cwd.len() as u64 > limits::CWD {
        return Err(RpcError::field(
            "cwd",
            "too_large",
            "cwd is longer than 4,096 bytes.",
        ));
    }
    Ok(())
}

fn more(folder: &RawValue) -> Result<String, RpcError> {
    let path: Option<String> = serde_json::from_str(folder.get()).ok();
    path.filter(|path| absolute(path)).ok_or_else(|| {
        RpcError::field(
            "additionalDirectories",
            "must_be_absolute",
            "Each additional folder must be an absolute path.",
        )
    })
}

fn server(text: &RawValue) -> Result<McpServer, RpcError> {
    let unreadable = || {
        RpcError::field(
            "mcpServers",
            "invalid",
            "An MCP server needs a name and either a command or an address.",
        )
    };
    let server: Server<'_> = serde_json::from_str(text.get()).map_err(|_| unreadable())?;
    let pairs = |all: Vec<Named>| all.into_iter().map(|it| (it.name, it.value)).collect();
    let by = match (server.kind.as_deref(), server.command, server.url) {
        (Some(kind @ ("http" | "sse")), _, Some(url)) => Transport::Web {
            sse: kind == "sse",
            url,
            headers: pairs(server.headers),
        },
        (None | Some("stdio"), Some(command), _) => Transport::Stdio {
            command,
            args: server.args,
            env: pairs(server.env),
        },
        _ => return Err(unreadable()),
    };
    Ok(McpServer {
        name: server.name,
        by,
    })
}
