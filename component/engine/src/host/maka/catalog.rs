//! Sessions of the Host: making them, listing them, their names.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::effect::FileDeparture;
use crate::host::{Fact, Failure, ListItem, ListPage, SessionKey};
use crate::input::{FileArrival, FileRefusal, Root};
use crate::json::Object;
use crate::limits;
use crate::object;
use crate::plumbing::FileOwner;
use crate::rpc::Ticket;
use crate::stamp;

use super::calls::Purpose;
use super::models::Waiting;
use super::options::Configuration;
use super::wire::current::{self as w, op};
use super::{Answer, Cx, Due, Maka, failure};

/// A listing that waits for its folder or for the Host.
#[derive(Debug, Serialize, Deserialize)]
pub struct Listing {
    ticket: Ticket,
    /// As asked for, then as it really is.
    cwd: Option<String>,
    cursor: Option<Cursor>,
}

/// A session that was made, and that the editor is not told of yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made {
    ticket: Ticket,
    session_id: String,
    title: String,
    /// How it is set, if the Host says.
    configuration: Option<Configuration>,
    cwd: String,
    /// What the editor is told of it besides.
    about: Object,
    /// Which connection its model is reached through.
    slug: String,
}

/// What an editor's list cursor means: exactly these three keys, as base64url JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cursor {
    revision: String,
    cursor: String,
    cwd: Option<String>,
}

impl Maka {
    /// `session.create`, with an id of ours.
    pub(super) fn create(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, cwd: &str) {
        if self.ending {
            return cx.answer(Fact::Refused {
                ticket,
                failure: failure::closing(op::CREATE),
            });
        }
        let session_id = cx.core.uuid();
        let input = object! {
            "sessionId": session_id,
            "workspace": object! { "kind": "host_path", "path": cwd },
            "modelTarget": object! { "kind": "default" },
        };
        self.call(
            cx,
            op::CREATE,
            input,
            Purpose::Create { ticket, session_id },
            // Maka's own adapter waits for ever; a lost answer would hang the editor.
            Some(limits::MAKA_FIRST_MS),
        );
    }

    pub(super) fn created(
        &mut self,
        cx: &mut Cx<'_, '_>,
        ticket: Ticket,
        session_id: String,
        answer: Answer<'_>,
    ) {
        let item = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::CatalogItem<'_>>(result.get()).ok(),
            _ => None,
        };
        let Some(item) = item.filter(|item| item.id == session_id) else {
            let mut failure = answer.failure(op::CREATE);
            failure.data.set("sessionId", &session_id);
            return cx.answer(Fact::Refused { ticket, failure });
        };
        // The session stands. What follows is only to tell the model's name, and may fail.
        let made = Made {
            ticket,
            session_id,
            configuration: Configuration::of(&item),
            title: item.name.into_owned(),
            cwd: item
                .workspace
                .map(|workspace| workspace.host_cwd.into_owned())
                .unwrap_or_default(),
            about: object! { "model": item.model },
            slug: item.llm_connection_slug.unwrap_or_default().into_owned(),
        };
        self.read_models(cx, Waiting::Created(Box::new(made)));
    }

    /// The models were read, or could not be.
    pub(super) fn told_created(&mut self, cx: &mut Cx<'_, '_>, made: Made) {
        let Made {
            ticket,
            session_id,
            title,
            cwd,
            configuration,
            mut about,
            slug,
        } = made;
        self.ask_skills(cx, &session_id);
        let known = self.models.known.as_ref();
        if let Some(name) = known.and_then(|known| known.connection(&slug)) {
            about.set("connection", &name);
        }
        // Nothing to choose from: the editor is told of the session all the same.
        let options = known
            .and(configuration)
            .map(|configuration| self.options(&configuration));
        cx.answer(Fact::Created {
            ticket,
            session_id,
            title,
            cwd,
            options,
            about: Some(object! { "maka": about }),
        });
    }

    /// `session/list`: the cursor is read, then the folder, then the Host is asked.
    pub(super) fn list(
        &mut self,
        cx: &mut Cx<'_, '_>,
        ticket: Ticket,
        cwd: Option<String>,
        cursor: Option<String>,
    ) {
        if self.ending {
            return cx.answer(Fact::Refused {
                ticket,
                failure: failure::closing(op::CATALOG),
            });
        }
        let cursor = match cursor.map(|text| Cursor::read(&text)).transpose() {
            Ok(cursor) => cursor,
            Err(failure) => return cx.answer(Fact::Refused { ticket, failure }),
        };
        match cwd {
            Some(cwd) => {
                let lexical = normal(&cwd);
                let stat = FileDeparture::Stat(Root::Linked, lexical.clone());
                cx.core.file(FileOwner::List(ticket), stat);
                let listing = Listing {
                    ticket,
                    cwd: Some(lexical),
                    cursor,
                };
                self.listings.insert(ticket, listing);
            }
            None => {
                let cwd = cursor.as_ref().and_then(|cursor| cursor.cwd.clone());
                self.ask_list(
                    cx,
                    Listing {
                        ticket,
                        cwd,
                        cursor,
                    },
                );
            }
        }
    }

    /// The folder of a listing as it really is; a folder that is gone keeps its name.
    pub(super) fn folder_found(
        &mut self,
        cx: &mut Cx<'_, '_>,
        ticket: u64,
        arrival: Option<FileArrival>,
    ) {
        let Some(mut listing) = self.listings.remove(&ticket) else {
            return;
        };
        let refuse = |cx: &mut Cx<'_, '_>, failure: Failure| {
            cx.answer(Fact::Refused { ticket, failure });
        };
        match arrival {
            Some(FileArrival::Facts(facts)) => listing.cwd = Some(facts.canonical_path),
            Some(FileArrival::Refused(FileRefusal::Error(name)))
                if name == "ENOENT" || name == "ENOTDIR" => {}
            // Not allowed to look: the name as given is all there is.
            Some(FileArrival::Refused(FileRefusal::NotAllowed)) => {}
            Some(FileArrival::Refused(FileRefusal::Error(name))) => {
                return refuse(cx, failure::folder(&name));
            }
            _ => return refuse(cx, failure::folder("internal_failure")),
        }
        let other = |cursor: &Cursor| cursor.cwd.is_some() && cursor.cwd != listing.cwd;
        if listing.cursor.as_ref().is_some_and(other) {
            return refuse(cx, failure::cursor("cursor_cwd_mismatch"));
        }
        self.ask_list(cx, listing);
    }

    fn ask_list(&mut self, cx: &mut Cx<'_, '_>, listing: Listing) {
        let input = match &listing.cursor {
            None => object! { "kind": "list_start" },
            Some(Cursor {
                revision, cursor, ..
            }) => {
                object! { "kind": "list_continue", "revision": revision, "cursor": cursor }
            }
        };
        let ticket = listing.ticket;
        self.listings.insert(ticket, listing);
        let timeout = Some(limits::MAKA_FIRST_MS);
        self.call(cx, op::CATALOG, input, Purpose::List { ticket }, timeout);
    }

    pub(super) fn listed(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, answer: Answer<'_>) {
        let Some(listing) = self.listings.remove(&ticket) else {
            return;
        };
        let page = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::Catalog<'_>>(result.get()).ok(),
            _ => None,
        };
        let told = match page {
            Some(page) if page.kind == "revision_changed" => Err(failure::cursor("stale_cursor")),
            Some(page) if page.kind == "page" => listing.page(page),
            Some(_) => Err(failure::catalog_read(op::CATALOG, "invalid_projection")),
            None => Err(answer.failure(op::CATALOG)),
        };
        cx.answer(match told {
            Ok(page) => Fact::Listed { ticket, page },
            Err(failure) => Fact::Refused { ticket, failure },
        });
    }

    /// A session changed. Names and options are asked for a little later, all at once: a
    /// turn changes its session many times.
    pub(super) fn catalog_changed(&mut self, cx: &mut Cx<'_, '_>, session_id: &str) {
        let mut attached = self.feeds.iter();
        let found = attached.find(|(_, attached)| attached.session_id == session_id);
        if let Some((key, _)) = found {
            self.look_again(cx, *key);
        }
    }

    /// The same, as a snapshot tells it; the first only tells where it stands.
    pub(super) fn record(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, record: &w::Record) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let before = attached.metadata.replace(record.metadata_revision);
        if before.is_some() && before != attached.metadata {
            self.look_again(cx, key);
        }
    }

    pub(super) fn look_again(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        self.changed.insert(key);
        if self.naming.is_none() && !self.ending {
            self.naming = Some(cx.arm(Due::Titles, limits::MAKA_TITLES_MS));
        }
    }

    pub(super) fn ask_titles(&mut self, cx: &mut Cx<'_, '_>) {
        self.naming = None;
        if self.link.ready().is_none() {
            return;
        }
        let keys: BTreeSet<SessionKey> = core::mem::take(&mut self.changed);
        for key in keys {
            let Some(attached) = self.feeds.get(&key) else {
                continue;
            };
            let input = object! { "kind": "get", "sessionId": attached.session_id };
            let purpose = Purpose::Title { session: key };
            self.call(
                cx,
                op::CATALOG,
                input,
                purpose,
                Some(limits::MAKA_MODELS_MS),
            );
        }
    }

    pub(super) fn title(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, answer: Answer<'_>) {
        let Answer::Result(result) = answer else {
            return;
        };
        let Ok(catalog) = serde_json::from_str::<w::Catalog<'_>>(result.get()) else {
            return;
        };
        let Some(session) = catalog.session else {
            return;
        };
        if !session.name.is_empty() {
            let title = session.name.to_string();
            let updated_at = session.last_used_at.and_then(stamp::iso);
            let _fine = cx.tell(
                key,
                Fact::Titled {
                    title,
                    updated_at,
                    again: false,
                },
            );
        }
        // What is being set comes first, and this may be older.
        if let Some(configuration) = Configuration::of(&session)
            && !self.settings.pass_over(key)
            && !self.load_learns(key, &configuration)
        {
            let options = self.options(&configuration);
            let _fine = cx.tell(key, Fact::Options(options));
        }
    }
}

impl Listing {
    /// One page of the Host is one page of the editor, filtered by folder.
    fn page(&self, page: w::Catalog<'_>) -> Result<ListPage, Failure> {
        let revision = page.revision.unwrap_or_default();
        let next_cursor = match page.next_cursor {
            Some(next) => Some(self.next(&revision, &next)?),
            None => None,
        };
        let sessions = page
            .sessions
            .into_iter()
            .filter(|item| item.kind.is_none() && item.subagent.is_none())
            .filter_map(|item| self.item(item))
            .collect();
        Ok(ListPage {
            sessions,
            next_cursor,
        })
    }

    fn item(&self, item: w::CatalogItem<'_>) -> Option<ListItem> {
        let cwd = item.workspace?.host_cwd;
        if self.cwd.as_deref().is_some_and(|wanted| wanted != cwd) {
            return None;
        }
        Some(ListItem {
            id: item.id.into_owned(),
            cwd: cwd.into_owned(),
            title: item.name.into_owned(),
            updated_at: item.last_used_at.and_then(stamp::iso),
            row: None,
        })
    }

    fn next(&self, revision: &str, next: &str) -> Result<String, Failure> {
        if self
            .cursor
            .as_ref()
            .is_some_and(|cursor| cursor.cursor == next)
        {
            return Err(failure::catalog_read(op::CATALOG, "repeated_cursor"));
        }
        let cursor = Cursor {
            revision: revision.into(),
            cursor: next.into(),
            cwd: self.cwd.clone(),
        };
        let text = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&cursor).unwrap_or_default());
        if next.len() as u64 > limits::HOST_CURSOR || text.len() as u64 > limits::LIST_CURSOR {
            return Err(failure::cursor_too_large());
        }
        Ok(text)
    }
}

impl Cursor {
    fn read(text: &str) -> Result<Cursor, Failure> {
        Cursor::decode(text).ok_or_else(|| failure::cursor("invalid_cursor"))
    }

    fn decode(text: &str) -> Option<Cursor> {
        if text.is_empty() || text.len() as u64 > limits::LIST_CURSOR {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        // serde would read an array into a structure, field by field.
        let object = bytes.starts_with(b"{");
        let cursor: Cursor = serde_json::from_slice(&bytes).ok().filter(|_| object)?;
        let hex = cursor.revision.strip_prefix("sha256:")?;
        let sound = hex.len() == 64
            && hex
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
            && (1..=limits::HOST_CURSOR).contains(&(cursor.cursor.len() as u64))
            && cursor.cwd.as_ref().is_none_or(|cwd| {
                cwd.starts_with('/') && cwd.len() as u64 <= limits::CWD && normal(cwd) == *cwd
            });
        sound.then_some(cursor)
    }
}

/// A path without `.`, `..` and doubled slashes, by its letters alone.
pub fn normal(path: &str) -> String {
    let mut parts: alloc::vec::Vec<&str> = alloc::vec::Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut text = String::new();
    for part in &parts {
        text.push('/');
        text.push_str(part);
    }
    if text.is_empty() {
        "/".to_string()
    } else {
        text
    }
}
