//! A window of the last few numbers, for reports and acknowledgments.
//!
//! Numbers wrap and may begin anywhere. A number far behind the last one means a restarted sender.

/// Numbers before the last one in the window.
pub const REMEMBERED: u32 = 32;
/// The distance behind the last number from which a number means a restart.
const NEW_BEGINNING: u32 = 1024;

/// The last number and the [`REMEMBERED`] before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The newest number.
    pub last: u32,
    /// Bit 0 is the number before the newest.
    pub before: u32,
}

impl Window {
    /// A window of one number.
    pub fn new(number: u32) -> Self {
        Window { last: number, before: 0 }
    }

    /// Distance of a number ahead of the last one, for numbers of `bits` bits.
    fn ahead(self, number: u32, bits: u32) -> i32 {
        let unused = 32 - bits;
        (number.wrapping_sub(self.last) << unused) as i32 >> unused
    }

    /// Adds a number of `bits` bits. Returns whether it is new.
    pub fn note(&mut self, number: u32, bits: u32) -> bool {
        match self.ahead(number, bits) {
            0 => false,
            ahead @ 1.. => {
                let shift = ahead as u32;
                let moved = if shift > REMEMBERED {
                    0
                } else {
                    ((u64::from(self.before) << 1 | 1) << (shift - 1)) as u32
                };
                *self = Window { last: number, before: moved };
                true
            }
            behind => {
                let back = behind.unsigned_abs();
                if back >= NEW_BEGINNING {
                    *self = Window::new(number);
                    return true;
                }
                let bit = 1u32.checked_shl(back - 1).unwrap_or(0);
                let is_new = self.before & bit == 0 && bit != 0;
                self.before |= bit;
                is_new
            }
        }
    }

    /// Whether the window has a number; `None` outside the window.
    pub fn holds(self, number: u32, bits: u32) -> Option<bool> {
        match self.ahead(number, bits) {
            0 => Some(true),
            1.. => None,
            behind => {
                let back = behind.unsigned_abs();
                (back <= REMEMBERED).then(|| self.before >> (back - 1) & 1 == 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_window_holds_what_was_noted_of_the_last_few_numbers(
            start: u32,
            steps in proptest::collection::vec(-40i32..40, 1..60),
            bits in prop_oneof![Just(16u32), Just(32)],
        ) {
            let mask = u32::MAX >> (32 - bits);
            let mut number = start & mask;
            let mut window = Window::new(number);
            let mut noted = vec![number];
            for step in steps {
                number = number.wrapping_add_signed(step) & mask;
                let is_known = noted.contains(&number);
                let is_new = window.note(number, bits);
                prop_assert!(!(is_new && is_known) , "{number} is not new");
                noted.push(number);
            }
            for back in 0..=REMEMBERED {
                let number = window.last.wrapping_sub(back) & mask;
                prop_assert_eq!(window.holds(number, bits), Some(noted.contains(&number)), "{} back", back);
            }
            prop_assert_eq!(window.holds(window.last.wrapping_add(1) & mask, bits), None);
        }
    }

    #[test]
    fn a_number_far_behind_is_a_new_beginning() {
        let mut window = Window::new(1_000_000);
        assert!(window.note(3, 32) && window.last == 3);
    }
}
