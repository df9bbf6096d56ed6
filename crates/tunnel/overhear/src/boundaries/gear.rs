//! Gear: a rolling sum of one random number a byte. It doubles at every step, so old bytes leave at the top.

/// Bit b of the sum depends on the last b + 1 bytes. The examined bits lie below this bit.
const WINDOW_BYTES: usize = 16;

/// One random number a byte: SplitMix64 (Steele, Lea, Flood 2014) from seed zero.
static NUMBERS: [u64; 256] = {
    let mut numbers = [0; 256];
    let (mut state, mut at) = (0u64, 0);
    while at < 256 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        numbers[at] = z ^ z >> 31;
        at += 1;
    }
    numbers
};

/// Length of the first chunk of `bytes`, which are more than `MIN_BYTES`. Behind `MIN_BYTES`, one position in
/// `MIN_BYTES` matches, at most one in 64.
#[inline]
pub fn cut<const MIN_BYTES: usize>(bytes: &[u8]) -> usize {
    let bits = if MIN_BYTES < 64 { MIN_BYTES } else { 64 }.ilog2();
    let mask = ((1u64 << bits) - 1) << (WINDOW_BYTES as u32 - bits);
    let (window, region) = bytes[MIN_BYTES - WINDOW_BYTES..].split_at(WINDOW_BYTES);
    let step = |sum: u64, byte: u8| (sum << 1).wrapping_add(NUMBERS[usize::from(byte)]);
    let mut sum = window.iter().fold(0, |sum, &byte| step(sum, byte));
    if sum & mask == 0 {
        return MIN_BYTES;
    }
    // Four positions at a time, each from the sum before all four, so that the additions do not wait for each
    // other.
    let (fours, rest) = region.as_chunks::<4>();
    for (index, four) in fours.iter().enumerate() {
        let one = step(0, four[0]);
        let two = step(one, four[1]);
        let three = step(two, four[2]);
        let all = step(three, four[3]);
        let sums = [
            (sum << 1).wrapping_add(one),
            (sum << 2).wrapping_add(two),
            (sum << 3).wrapping_add(three),
            (sum << 4).wrapping_add(all),
        ];
        if let Some(fitting) = sums.iter().position(|sum| sum & mask == 0) {
            return MIN_BYTES + 4 * index + fitting + 1;
        }
        sum = sums[3];
    }
    for (index, &byte) in rest.iter().enumerate() {
        sum = step(sum, byte);
        if sum & mask == 0 {
            return bytes.len() - rest.len() + index + 1;
        }
    }
    bytes.len()
}
