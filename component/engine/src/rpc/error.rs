//! The one table of JSON-RPC errors that editors get (ACP protocol, section 1).

use alloc::borrow::Cow;
use alloc::string::String;

use crate::json::Object;
use crate::object;
use serde::{Deserialize, Serialize};

/// A line that is not JSON.
pub const PARSE: i32 = -32700;
/// JSON that is not a message, or a message at the wrong time.
pub const INVALID_REQUEST: i32 = -32600;
/// A method that does not exist here.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// Params that cannot be used.
pub const INVALID_PARAMS: i32 = -32602;
/// Everything else.
pub const INTERNAL: i32 = -32603;
/// A request that the editor does not want an answer to any more.
pub const CANCELLED: i32 = -32800;
/// Somebody has to sign in first.
pub const AUTH_REQUIRED: i32 = -32000;
/// A session, or a file, that is not there.
pub const NOT_FOUND: i32 = -32002;

/// An error answer. The message is one sentence that says what to do where that can be
/// known; `data` is for programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RpcError {
    /// One of the codes of this table.
    pub code: i32,
    /// For people.
    pub message: Cow<'static, str>,
    /// For programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Object>,
}

impl RpcError {
    /// Without data.
    pub fn new(code: i32, message: impl Into<Cow<'static, str>>) -> RpcError {
        RpcError {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// With data.
    pub fn with(code: i32, message: impl Into<Cow<'static, str>>, data: Object) -> RpcError {
        RpcError {
            code,
            message: message.into(),
            data: Some(data),
        }
    }

    /// A param that cannot be used, in the form of the Maka adapter (section 4.1).
    pub fn field(field: &str, reason: &str, message: impl Into<Cow<'static, str>>) -> RpcError {
        RpcError::with(
            INVALID_PARAMS,
            message,
            object! {"field": field, "reason": reason},
        )
    }

    /// A session that this connection does not own.
    pub fn unknown_session(id: &str) -> RpcError {
        RpcError::with(
            NOT_FOUND,
            "This session is not open here. Load it with session/load, or create one with session/new.",
            object! {"reason": "unknown_session", "sessionId": id},
        )
    }

    /// As `$/cancel_request` asks.
    pub fn cancelled() -> RpcError {
        RpcError::new(CANCELLED, "The request was cancelled.")
    }

    /// The adapter is about to end.
    pub fn closing(operation: &str) -> RpcError {
        RpcError::with(
            INTERNAL,
            "The adapter is shutting down.",
            object! {
                "source": "runtime_host", "operation": operation, "code": "registry_closed"
            },
        )
    }

    /// Params that do not have the shape of the method.
    pub fn params(method: &str, why: &str) -> RpcError {
        let mut message = String::from("The params of ");
        message.push_str(method);
        message.push_str(" cannot be read: ");
        message.push_str(why);
        RpcError::new(INVALID_PARAMS, message)
    }
}
