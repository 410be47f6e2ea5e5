//! The models that can be chosen: the connection catalog of the Host, read page by page.
//!
//! Touches the Host alone. Invariants: whoever waits for a reading goes on when it ends,
//! however it ends; a reading that fails leaves what was known before; a reading has an end,
//! whatever the Host answers.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::effect::Level;
use crate::host::SessionKey;
use crate::json::Object;
use crate::limits;
use crate::object;
use crate::rpc::Ticket;

use super::calls::Purpose;
use super::catalog::Made;
use super::wire::current::{self as w, op};
use super::{Answer, Cx, Maka};

/// What is known of models.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Models {
    /// As it was read last; shared by all sessions.
    pub known: Option<Catalog>,
    next: u64,
    readings: BTreeMap<u64, Reading>,
}

/// The connection catalog, as far as it matters for choosing a model.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Catalog {
    connections: Vec<Connection>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Connection {
    index: u64,
    slug: String,
    name: String,
    enabled: bool,
    models: Vec<Model>,
}

/// A model that can be chosen.
#[derive(Debug, Serialize, Deserialize)]
pub struct Model {
    /// Its id, unique in its connection.
    pub id: String,
    /// For people, if it has one.
    pub name: Option<String>,
    /// Its thinking levels, if the catalog says.
    pub levels: Option<Vec<String>>,
}

/// Who waits for a reading.
#[derive(Debug, Serialize, Deserialize)]
pub enum Waiting {
    /// A session that was just made.
    Created(Box<Made>),
    /// A session that is taken in, by its request.
    Loading(Ticket),
    /// A session whose options were just set.
    Set(SessionKey),
}

#[derive(Debug, Serialize, Deserialize)]
struct Reading {
    waiting: Waiting,
    catalog: Catalog,
    pages: u64,
}

impl Maka {
    /// Reads the catalog anew, then goes on.
    pub(super) fn read_models(&mut self, cx: &mut Cx<'_, '_>, waiting: Waiting) {
        self.models.next += 1;
        let number = self.models.next;
        let reading = Reading {
            waiting,
            catalog: Catalog::default(),
            pages: 0,
        };
        self.models.readings.insert(number, reading);
        self.ask_models(cx, number, object! { "kind": "start" });
    }

    fn ask_models(&mut self, cx: &mut Cx<'_, '_>, number: u64, input: Object) {
        let purpose = Purpose::Models(number);
        self.call(cx, op::MODELS, input, purpose, Some(limits::MAKA_MODELS_MS));
    }

    /// A page came, or none.
    pub(super) fn models_page(&mut self, cx: &mut Cx<'_, '_>, number: u64, answer: Answer<'_>) {
        let Some(mut reading) = self.models.readings.remove(&number) else {
            return;
        };
        let page = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::Models<'_>>(result.get()).ok(),
            _ => None,
        };
        let Some(page) = page else {
            cx.core.note(
                Level::Info,
                "the Host does not name its models: those known before are offered",
            );
            return self.models_read(cx, reading.waiting);
        };
        reading.pages += 1;
        let next = reading.take(page);
        if let Some(next) = next.filter(|_| reading.pages < limits::MAKA_MODEL_PAGES) {
            self.models.readings.insert(number, reading);
            return self.ask_models(cx, number, next);
        }
        self.models.known = Some(reading.catalog);
        self.models_read(cx, reading.waiting);
    }

    fn models_read(&mut self, cx: &mut Cx<'_, '_>, waiting: Waiting) {
        match waiting {
            Waiting::Created(made) => self.told_created(cx, *made),
            Waiting::Loading(ticket) => self.load_modeled(cx, ticket),
            Waiting::Set(key) => self.told_set(cx, key),
        }
    }
}

impl Reading {
    /// Takes a page in; what to ask next, if there is more.
    fn take(&mut self, page: w::Models<'_>) -> Option<Object> {
        if page.kind != "page" {
            // The catalog changed between two pages.
            self.catalog = Catalog::default();
            return Some(object! { "kind": "start" });
        }
        for item in page.items {
            self.catalog.take(item);
        }
        // The cursor goes back as it came.
        let cursor = page.next_cursor?;
        let revision = page.revision;
        Some(object! { "kind": "continue", "revision": revision, "cursor": cursor })
    }
}

impl Catalog {
    /// Connections come before their models, enabled ids before the models' names. The
    /// models of a connection that is switched off cannot be chosen.
    fn take(&mut self, item: w::ModelItem<'_>) {
        let index = item.connection_index;
        if item.kind == "connection" {
            if let Some(slug) = item.slug {
                self.connections.push(Connection {
                    index,
                    slug: slug.to_string(),
                    name: item.name.as_deref().unwrap_or(&slug).to_string(),
                    enabled: item.enabled,
                    models: Vec::new(),
                });
            }
            return;
        }
        let room = self.count() < limits::MAKA_MODELS;
        let Some(connection) = self.connections.iter_mut().find(|it| it.index == index) else {
            return;
        };
        if let Some(id) = item.model_id
            && connection.enabled
            && room
            && connection.models.iter().all(|known| known.id != id)
        {
            let declared = item.relay_profile.and_then(|it| it.thinking_levels);
            connection.models.push(Model {
                id: id.into_owned(),
                name: None,
                levels: declared.map(|it| it.into_iter().map(|level| level.into_owned()).collect()),
            });
        } else if let Some(model) = item.model
            && let Some(known) = connection.models.iter_mut().find(|it| it.id == model.id)
        {
            known.name = model.display_name.map(|name| name.into_owned());
        }
    }

    fn count(&self) -> u64 {
        let all = self.connections.iter();
        all.map(|connection| connection.models.len() as u64).sum()
    }

    /// Every model, with slug and name of its connection.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str, &Model)> {
        self.connections.iter().flat_map(|connection| {
            let (slug, name) = (connection.slug.as_str(), connection.name.as_str());
            connection
                .models
                .iter()
                .map(move |model| (slug, name, model))
        })
    }

    /// A connection's name for people.
    pub fn connection(&self, slug: &str) -> Option<&str> {
        let found = self.connections.iter().find(|it| it.slug == slug)?;
        Some(&found.name)
    }
}
