//! A question of a Host to the user, in words that no Host and no ACP version owns.
//!
//! Plain data; it touches nothing. Invariant: a choice is named by its place and a field by
//! its name, so that an answer can only be one that was offered.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::projection::Report;

/// A question to the user.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dialog {
    /// The Host's id of it.
    pub id: String,
    /// The Host's word for what it is.
    pub kind: String,
    /// Of which turn.
    pub turn_id: String,
    /// The card that it stands on.
    pub tool_id: String,
    /// Whether that card is for the question alone.
    pub own_card: bool,
    /// Whether turning away is an answer of its own; otherwise it ends the turn.
    pub cancel_is_answer: bool,
    /// What is asked.
    pub body: Body,
    /// The card as the question shows it, where the Host keeps it itself.
    #[serde(default)]
    pub card: Option<Box<Report>>,
    /// What editors show of it that agreed on more than ACP.
    #[serde(default)]
    pub more: Option<Box<Besides>>,
}

/// What ACP has no words for in a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Besides {
    /// Above a question with choices.
    pub title: Option<String>,
    /// Why it is asked.
    pub why: Option<String>,
    /// Whether a key that was meant for something else must not be a yes.
    pub default_to_no: bool,
    /// Fields of a form for the user's own answer, each with the field that it belongs to.
    pub own_answers: Vec<(String, String)>,
}

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Body {
    /// One of a few.
    Choice {
        /// In a few words.
        title: String,
        /// All that the user has to know.
        text: String,
        /// In the order in which they are shown.
        choices: Vec<Choice>,
    },
    /// Values.
    Form {
        /// In a sentence.
        message: String,
        /// In the order in which they are shown.
        fields: Vec<Field>,
    },
    /// Values, as a JSON Schema of plain fields describes them (MCP, elicitation).
    Schema {
        /// In a sentence.
        message: String,
        /// An object.
        schema: Box<RawValue>,
    },
    /// That the user goes to an address and does something there.
    Address {
        /// In a sentence.
        message: String,
        /// Where.
        url: String,
        /// Stands for it when it is done.
        id: String,
    },
}

/// What an editor must be able to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// A question with a few choices.
    Choice,
    /// A form.
    Form,
    /// An address to go to.
    Address,
    /// Not a question: an option that is on or off.
    Switch,
}

/// One of a few.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The Host's own name of it, which the editor gets; otherwise a fresh one.
    #[serde(default)]
    pub id: Option<String>,
    /// For people.
    pub name: String,
    /// What it comes to.
    pub leaning: Leaning,
}

/// What a choice comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Leaning {
    /// Yes, this time.
    AllowOnce,
    /// Yes, and do not ask again.
    AllowAlways,
    /// No, this time.
    RejectOnce,
}

/// A value to be filled in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Field {
    /// Its name in the answer.
    pub name: String,
    /// For people.
    pub title: String,
    /// More for people.
    pub description: Option<String>,
    /// Whether an answer must have it.
    pub required: bool,
    /// What it may be.
    pub shape: Shape,
}

/// What a value may be. Numbers are kept as the Host wrote them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Shape {
    /// A text.
    Text {
        /// Characters.
        min: Option<u64>,
        /// Characters.
        max: Option<u64>,
        /// `email`, `uri`, `date`, `date-time`.
        format: Option<String>,
        /// A hint.
        default: Option<String>,
    },
    /// A number.
    Number {
        /// Lowest.
        min: Option<Box<RawValue>>,
        /// Highest.
        max: Option<Box<RawValue>>,
        /// A hint.
        default: Option<Box<RawValue>>,
    },
    /// A whole number.
    Integer {
        /// Lowest.
        min: i64,
        /// Highest.
        max: i64,
        /// A hint.
        default: Option<i64>,
    },
    /// Yes or no.
    Boolean {
        /// A hint.
        default: Option<bool>,
    },
    /// One of these.
    One {
        /// In the order in which they are shown.
        options: Vec<Named>,
        /// A hint.
        default: Option<String>,
    },
    /// Some of these.
    Many {
        /// In the order in which they are shown.
        options: Vec<Named>,
        /// How many at least.
        min: Option<u64>,
        /// How many at most.
        max: Option<u64>,
        /// A hint.
        default: Option<Vec<String>>,
    },
}

/// A value and what people call it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// In the answer.
    pub value: String,
    /// For people.
    pub label: String,
}

/// What came of asking.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// The choice at this place.
    Chosen(u64),
    /// A JSON object of values by name.
    Filled(Box<RawValue>),
    /// The user does not want to say.
    Declined,
    /// The user turned away; only where that is an answer.
    Cancelled,
    /// The editor cannot ask this.
    Unsupported,
    /// The editor answered something that was not offered.
    Invalid,
    /// The editor could not ask.
    Failed,
}

impl Body {
    /// What an editor must be able to show.
    pub fn means(&self) -> Means {
        match self {
            Body::Choice { .. } => Means::Choice,
            Body::Form { .. } | Body::Schema { .. } => Means::Form,
            Body::Address { .. } => Means::Address,
        }
    }
}
