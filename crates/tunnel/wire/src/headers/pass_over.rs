//! Deltas, for a reader without the context.

use super::{ALL_OPTIONS, first, second};
use crate::{Malformed, take, take_array, varint};

/// Takes a delta off the front of `delta` that is of a TCP packet over IPv4, or looks so: the context, which
/// tells, is not known.
pub fn pass_over(delta: &mut &[u8]) -> Result<(), Malformed> {
    let [bits] = take_array(delta, "header delta")?;
    let numbers = [
        first::ID,
        first::SEQUENCE_STEPS,
        first::SEQUENCE,
        first::ACK,
        first::WINDOW,
        first::TIMESTAMP,
        first::ECHO,
    ];
    for _ in numbers.iter().filter(|number| bits & **number != 0) {
        varint::parse(delta)?;
    }
    if bits & first::MORE == 0 {
        return Ok(());
    }
    let [more] = take_array(delta, "header delta")?;
    for (bit, bytes) in [(second::CHECKSUM, 2), (second::FLAGS, 2)] {
        if more & bit != 0 {
            take(delta, bytes, "header delta: flags")?;
        }
    }
    if more & second::OPTIONS != 0 {
        let [length] = take_array(delta, "header delta: options")?;
        take(delta, usize::from(length & !ALL_OPTIONS) * 4, "header delta: options")?;
    } else if more & second::SACK != 0 {
        let [blocks] = take_array(delta, "header delta: options")?;
        for _ in 0..2 * u32::from(blocks) {
            varint::parse(delta)?;
        }
    }
    for bit in [second::CLASS, second::TTL, second::LABEL] {
        if more & bit != 0 {
            take(delta, 1, "header delta: what seldom differs")?;
        }
    }
    Ok(())
}
