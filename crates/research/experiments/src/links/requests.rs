//! A hundred small answers where TCP ends at both nodes.

use anyhow::Result;
use lab::{Connections, Exchange, Scenario};

use super::downloads::{self, SECONDS};
use super::form::Form;
use super::place::Place;
use super::recorded;
use super::way::Way;
use crate::cell::File;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// Requests.
pub const FIGURE: Figure = Figure {
    id: "requests",
    title: "100 requests of 10 KB over 20 Mbit/s, by loss and round trip",
    x: "packets lost, %",
    remark: "The client sends an octet and gets 10,000 random octets that were not sent before, 100 times: on a *kept connection*, on \
             *new connections* one after the other, or on 100 connections *at once*. Link, queue and nodes are those of figure \
             `streams`. Goals at 100 ms are seconds; elsewhere, and at once, they are 1.05 of Hysteria's time. Hysteria's `fastOpen` \
             is what *answered early* is here.",
    needs,
    rows,
};

/// All losses of the grid, in percent.
const LOSSES: [u32; 3] = [0, 5, 10];
const ANSWERS: u32 = 100;
const ANSWER_BYTES: usize = 10_000;
/// Times of Hysteria that are equal.
const AS_FAST: f64 = 1.05;

/// The ways that have goals, and packets.
const FORMS: [Form; 4] = [Form::Packets, Form::Streams, Form::StreamsTold, Form::StreamsEarlyTold];

/// How the requests share connections, and goals at 100 ms by loss: answered after the server, and early.
struct Kind {
    name: &'static str,
    connections: Connections,
    goals: [Option<[f64; LOSSES.len()]>; 2],
}

const KINDS: [Kind; 3] = [
    Kind { name: "kept connection", connections: Connections::Kept, goals: [Some([10.7, 12.0, 13.5]), None] },
    Kind {
        name: "new connections",
        connections: Connections::New,
        goals: [Some([20.7, 22.5, 24.0]), Some([10.7, 12.5, 14.5])],
    },
    Kind { name: "at once", connections: Connections::AtOnce, goals: [None, None] },
];

impl Kind {
    fn panel(&self) -> String {
        format!("{SECONDS}, {}", self.name)
    }

    /// The most seconds.
    fn goal(&self, place: Place, form: Form) -> Option<f64> {
        let is_early = form == Form::StreamsEarlyTold;
        let Place { loss_percent, round_trip_milliseconds } = place;
        let goals = self.goals[usize::from(is_early)].filter(|_| round_trip_milliseconds == 100);
        let own = goals.and_then(|goals| Some(goals[LOSSES.iter().position(|loss| *loss == loss_percent)?]));
        let rival = form.rival()?;
        let theirs =
            recorded::value(rival, (FIGURE.id, &self.panel()), round_trip_milliseconds, loss_percent);
        own.or(theirs.map(|theirs| AS_FAST * theirs))
    }
}

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 1, 1)
}

fn name(kind: &Kind, place: Place, form: Form) -> String {
    format!("requests, {}, {form}, {place}", kind.name)
}

/// Each kind with each way that makes a difference to it.
fn cells(plan: &Plan) -> impl Iterator<Item = (&'static Kind, Place, Form)> {
    let places = Place::of(plan, &LOSSES);
    let kinds = KINDS.iter().flat_map(|kind| FORMS.map(|form| (kind, form)));
    let differ = kinds.filter(|(kind, form)| {
        *form != Form::StreamsEarlyTold || !matches!(kind.connections, Connections::Kept)
    });
    differ.flat_map(move |(kind, form)| places.clone().into_iter().map(move |place| (kind, place, form)))
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let cells = cells(&setting.plan);
    cells.map(|(kind, place, form)| Need::Scenario(Box::new(scenario(setting, kind, place, form)))).collect()
}

fn scenario(setting: &Setting<'_>, kind: &Kind, place: Place, form: Form) -> Scenario {
    let seeds = seeds(&setting.plan);
    let name = name(kind, place, form);
    let mut scenario = downloads::download(setting, name, seeds, place.topology(), Way::DEFAULT);
    for exchange in &mut scenario.exchanges {
        *exchange = Exchange {
            asks: true,
            answers: ANSWERS,
            answer_bytes: ANSWER_BYTES,
            connections: kind.connections,
            ..exchange.clone()
        };
    }
    form.configure(&mut scenario);
    scenario
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut run = Vec::new();
    let note = results.content_note(File::Long);
    for (kind, place, form) in cells(&results.setting.plan) {
        let outcomes = results.outcomes(&name(kind, place, form))?;
        let seconds: Vec<f64> = outcomes.iter().map(downloads::seconds).collect();
        let row = Row::new(FIGURE.id, place.series(&kind.panel(), form), place.loss_percent, "s");
        let row = row.measured(Estimate::median(&seconds), results.setting.driver, seconds.len() as u32);
        rows.push(row.goal(kind.goal(place, form)).note(&note));
        if !outcomes.is_empty() && !run.contains(&(kind.name, place)) {
            run.push((kind.name, place));
            rows.extend(recorded::rows(FIGURE.id, &kind.panel(), "s", place));
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_of_streams_has_a_goal_and_packets_have_none() {
        let place = |loss_percent, round_trip_milliseconds| Place { loss_percent, round_trip_milliseconds };
        for kind in &KINDS {
            for (loss, round_trip) in LOSSES.iter().flat_map(|loss| [20, 100, 600].map(|it| (*loss, it))) {
                let place = place(loss, round_trip);
                assert_eq!(kind.goal(place, Form::Packets), None);
                for form in [Form::Streams, Form::StreamsTold, Form::StreamsEarlyTold] {
                    assert!(kind.goal(place, form).is_some(), "{} {place} {form}", kind.name);
                }
            }
        }
        assert_eq!(KINDS[1].goal(place(10, 100), Form::StreamsTold), Some(24.0));
        assert_eq!(KINDS[1].goal(place(10, 100), Form::StreamsEarlyTold), Some(14.5));
        assert_eq!(KINDS[2].goal(place(5, 600), Form::StreamsEarlyTold), Some(1.05 * 2.21));
    }
}
