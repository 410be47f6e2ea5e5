//! What an editor may ask of a Host besides sessions and their turns: forks, accounts,
//! providers of models.
//!
//! Words only. Invariant: no ACP version and no Host is named here.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{IndexQuery, Setup};
use crate::json::Object;

/// Something that is asked for. Answered with [`super::Fact::Created`] (a fork),
/// [`super::Fact::Providers`], [`super::Fact::Done`], or [`super::Fact::Refused`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Errand {
    /// Make a session that begins with what was said in a stored one.
    Fork {
        /// The session that is forked.
        session_id: String,
        /// Where and with what the new one works.
        setup: Setup,
        /// Up to where; all of it if nowhere.
        point: Option<ForkPoint>,
    },
    /// A page of the index of sessions; answered with [`super::Fact::Listed`].
    Index {
        /// Those of this folder.
        cwd: Option<String>,
        /// Where the page begins.
        cursor: Option<String>,
        /// Which ones.
        query: IndexQuery,
    },
    /// Name a session, live or not.
    Rename {
        /// The session.
        session_id: String,
        /// Its name, on one line.
        title: String,
    },
    /// Put a session into the archive, or take it out again.
    Archive {
        /// The session.
        session_id: String,
        /// Whether it goes in.
        archived: bool,
    },
    /// Tell from now on what changes in the index of a folder. Answered with
    /// [`super::Fact::Watched`]; [`super::Fact::Changed`] follows.
    Watch {
        /// The folder.
        cwd: String,
    },
    /// Tell it no more.
    Unwatch {
        /// As it was answered.
        watch: String,
    },
    /// Sign in, in one of the ways that the Host offers.
    SignIn {
        /// The way.
        method: String,
        /// The gateway that is to be used from now on.
        gateway: Option<Gateway>,
    },
    /// Sign out.
    SignOut,
    /// Where models come from.
    Providers,
    /// Models come from here now.
    SetProvider {
        /// Which of the Host's providers is meant.
        id: String,
        /// What the provider speaks.
        api: String,
        /// Where it is.
        gateway: Gateway,
        /// What else the Host has to know, as the editor wrote it.
        more: Option<Object>,
    },
    /// Models come from where they came from at first.
    DropProvider {
        /// Which of the Host's providers is meant.
        id: String,
    },
}

/// Where in a session a fork begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkPoint {
    /// The last message that is kept.
    pub message_id: String,
    /// SHA-256 of its text, as lower-case hex: for a message whose id is not stored.
    pub fingerprint: Option<String>,
    /// Which of several messages with this text.
    pub occurrence: Option<u64>,
}

/// Another way to the models.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gateway {
    /// Where it is.
    pub url: String,
    /// Header fields, which may be secret.
    pub headers: Vec<(String, String)>,
}

/// Without what may be secret.
impl core::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Gateway")
            .field("url", &self.url)
            .field("headers", &names)
            .finish()
    }
}

/// A way to sign in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignIn {
    /// For programs.
    pub id: String,
    /// For people.
    pub name: String,
    /// For people, in a sentence.
    pub about: String,
    /// How it is done.
    pub by: SignInBy,
}

/// How somebody signs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SignInBy {
    /// In a terminal, by the agent itself with these arguments.
    Terminal(Vec<String>),
    /// The editor names a gateway that speaks this.
    Gateway(String),
}

/// Where models come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    /// For programs.
    pub id: String,
    /// What a provider may speak.
    pub supported: Vec<String>,
    /// Whether nothing goes without it.
    pub required: bool,
    /// What it speaks now, and where it is.
    pub current: Option<(String, String)>,
}

/// Who is signed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// `account`, `api_key`, `gateway`, `external` or `none`.
    pub kind: String,
    /// For people.
    pub label: String,
    /// For people: which one.
    pub detail: Option<String>,
    /// The person, where there is one.
    pub person: Option<Person>,
    /// Who sells the models, if not the Host's makers.
    pub vendor: Option<String>,
}

/// A person with an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// Address.
    pub email: Option<String>,
    /// For whom they work.
    pub organization: Option<String>,
    /// What they pay for.
    pub plan: Option<String>,
}
