//! What an editor asks besides sessions and their turns: forks, signing in and out, where
//! models come from.
//!
//! Invariant: every errand is answered once.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::account;
use super::environment::Environment;
use super::route::{self, Route};
use super::stored::Change;
use super::{Claude, failure};
use crate::host::{Cx, Errand, Fact, Failure, Gateway, SignIn, SignInBy};
use crate::rpc::Ticket;

/// The ways to sign in (Claude adapter, section 3).
pub fn sign_ins(environment: &Environment) -> Vec<SignIn> {
    let terminal = |id: &str, name: &str, about: &str, args: &[&str]| SignIn {
        id: id.to_owned(),
        name: name.to_owned(),
        about: about.to_owned(),
        by: SignInBy::Terminal(args.iter().map(|it| String::from(*it)).collect()),
    };
    let gateway = |id: &str, name: &str, protocol: &str| SignIn {
        id: id.to_owned(),
        name: name.to_owned(),
        about: "Use the models of a gateway that the editor names".to_owned(),
        by: SignInBy::Gateway(protocol.to_owned()),
    };
    let mut all = Vec::new();
    let hidden = environment.hides_subscriptions();
    if environment.is_remote() {
        // No browser can be opened here: the program's own dialogue tells what to do.
        if !hidden {
            let about = "Sign in to Claude in a terminal on the remote machine";
            all.push(terminal(
                "claude-login",
                "Log in with Claude",
                about,
                &["--cli"],
            ));
        }
    } else {
        if !hidden {
            all.push(terminal(
                "claude-ai-login",
                "Claude subscription",
                "Sign in with a Claude subscription",
                &["--cli", "auth", "login", "--claudeai"],
            ));
        }
        all.push(terminal(
            "console-login",
            "Anthropic Console",
            "Sign in with an Anthropic Console account, billed by use",
            &["--cli", "auth", "login", "--console"],
        ));
    }
    all.push(gateway("gateway", "Custom gateway", "anthropic"));
    all.push(gateway(
        "gateway-bedrock",
        "Custom gateway (Bedrock)",
        "bedrock",
    ));
    all
}

impl Claude {
    pub(super) fn errand(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, errand: Errand) {
        if self.ending {
            let failure = failure::closing();
            return cx.answer(Fact::Refused { ticket, failure });
        }
        match errand {
            Errand::Fork {
                session_id,
                setup,
                point,
            } => self.fork(cx, ticket, (session_id, setup, point)),
            Errand::Index { cwd, cursor, query } => {
                self.list(cx, ticket, (cwd, cursor.as_deref(), Some(query)));
            }
            Errand::Rename { session_id, title } => {
                let live = self.sessions.values_mut();
                match live
                    .filter(|it| it.is_live() || it.is_anew())
                    .find(|it| it.id() == session_id)
                {
                    Some(session) => session.rename(cx, ticket, title),
                    None => self.edit(cx, ticket, (session_id, Change::Name(title))),
                }
            }
            Errand::Archive {
                session_id,
                archived,
            } => self.edit(cx, ticket, (session_id, Change::Archived(archived))),
            Errand::Watch { cwd } => self.watch(cx, ticket, cwd),
            Errand::Unwatch { watch } => {
                self.unwatch(cx, &watch);
                cx.answer(Fact::Done { ticket });
            }
            Errand::SignIn { method, gateway } => {
                let done = self.sign_in(cx, &method, gateway);
                done_or_not(cx, ticket, done);
            }
            Errand::SignOut => self.sign_out(cx, ticket),
            Errand::Providers => {
                let main = route::provider(self.environment.route(), &self.environment);
                let providers = [main].into();
                cx.answer(Fact::Providers { ticket, providers });
            }
            Errand::SetProvider {
                id,
                api,
                gateway,
                more,
            } => {
                let route = Route::read(&id, &api, gateway, more.as_ref());
                let done = route.map(|route| self.reroute(cx, Some(route)));
                done_or_not(cx, ticket, done);
            }
            Errand::DropProvider { id } => {
                if id == route::MAIN {
                    self.reroute(cx, None);
                }
                cx.answer(Fact::Done { ticket });
            }
        }
    }

    /// `authenticate`. Terminals sign in by themselves.
    fn sign_in(
        &mut self,
        cx: &mut Cx<'_, '_>,
        method: &str,
        gateway: Option<Gateway>,
    ) -> Result<(), Failure> {
        if !matches!(method, "gateway" | "gateway-bedrock") {
            return Err(failure::sign_in(method));
        }
        if let Some(gateway) = gateway {
            let route = Route::sign_in(method, gateway)?;
            self.reroute(cx, Some(route));
        }
        Ok(())
    }

    /// Models come from elsewhere from now on: running sessions take it up between two turns.
    pub(super) fn reroute(&mut self, cx: &mut Cx<'_, '_>, route: Option<Route>) {
        if self.environment.route() == route.as_ref() {
            return;
        }
        let account = route.as_ref().map(|it| account::gateway(it.url()));
        self.environment.set_route(route);
        match account {
            Some(account) => cx.answer(Fact::SignedIn(account)),
            // The greetings of running sessions will say it.
            None if self.sessions.is_empty() => self.ask_status(cx),
            None => {}
        }
        self.inquire(cx);
        self.restart_all(cx);
    }
}

fn done_or_not(cx: &mut Cx<'_, '_>, ticket: Ticket, done: Result<(), Failure>) {
    cx.answer(match done {
        Ok(()) => Fact::Done { ticket },
        Err(failure) => Fact::Refused { ticket, failure },
    });
}
