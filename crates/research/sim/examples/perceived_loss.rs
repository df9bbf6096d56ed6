//! Perceived against actual loss, bytes sent, k and conditions, for a file's content, as a table.
//!
//! `cargo run --release -p overheard-sim --example perceived_loss -- FILE [OFFSET LENGTH]`

use published::form::PAPER;
use re::Form;
use sim::trial::{Case, Condition, Stream, Trial, over_conditions, over_distances, over_losses};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let file = arguments.first().ok_or("which FILE?")?;
    let content = std::fs::read(file)?;
    let number =
        |index: usize, otherwise: usize| arguments.get(index).map_or(Ok(otherwise), |text| text.parse());
    let offset = number(1, 0)?.min(content.len());
    let length = number(2, 1_000_000)?.min(content.len() - offset);
    let content = &content[offset..offset + length];
    let segments = Stream::Segments { retransmit_after: Some(Duration::from_millis(400)) };
    for form in [PAPER, Form::Compact] {
        for (name, stream) in [("datagrams", Stream::Datagrams), ("segments", segments)] {
            let mut base = Trial::of(content, stream, 5000);
            if let Some(tunnel) = &mut base.tunnel {
                tunnel.reduce.form = form;
            }
            println!("\n{name}, {form} form: perceived against actual loss");
            table(&over_losses(&base, &[0.0, 0.01, 0.05, 0.1, 0.2]))?;
            println!("\n{name}, {form} form: k");
            table(&over_distances(&base, &[1, 2, 4, 8, 16, 32, 50], &[0.05, 0.1]))?;
            println!("\n{name}, {form} form: conditions");
            table(&over_conditions(&base, &Condition::ALL, &[0.05]))?;
        }
    }
    Ok(())
}

fn table(cases: &[Case]) -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{:<36} {:>5} {:>8} {:>9} {:>11} {:>9} {:>11} {:>10} {:>8}",
        "series", "x", "actual", "perceived", "undecodable", "offered", "bytes down", "bytes up", "seconds"
    );
    for case in cases {
        let one = case.run(1)?;
        let outcome = one.outcome;
        println!(
            "{:<36} {:>5} {:>8.4} {:>9.4} {:>11} {:>9} {:>11} {:>10} {:>8}",
            one.series,
            one.x,
            outcome.actual_loss,
            outcome.perceived_loss,
            outcome.undecodable_packets,
            outcome.offered_packets,
            outcome.bytes_down,
            outcome.bytes_up,
            outcome.completion_seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.1}")),
        );
    }
    Ok(())
}
