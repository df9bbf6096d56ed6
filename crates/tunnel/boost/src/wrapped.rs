//! The congestion controls of the kernel that can be wrapped.

use crate::Error;
use std::fmt;
use std::str::FromStr;

/// The kernel's default congestion control; each network namespace has its own.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// A congestion control of the kernel. Programs call the kernel's own functions of the first two, and
/// reimplement the others from the papers. BBR could be called, but it measures the delivery rate and does
/// not count packets, so saved bytes speed it up in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrapped {
    /// CUBIC (RFC 9438).
    Cubic,
    /// NewReno (RFC 5681, RFC 6582).
    Reno,
    /// Vegas (Brakmo, O'Malley, Peterson 1994).
    Vegas,
    /// Veno (Fu, Liew 2003).
    Veno,
    /// Westwood+ (Mascolo and others 2001).
    Westwood,
}

impl Wrapped {
    /// All of them.
    pub const ALL: [Wrapped; 5] =
        [Wrapped::Cubic, Wrapped::Reno, Wrapped::Vegas, Wrapped::Veno, Wrapped::Westwood];

    /// The default of this network namespace.
    ///
    /// # Errors
    ///
    /// [`Error::NotWrapped`] if the default is none of them.
    pub fn usual() -> Result<Self, Error> {
        let name = std::fs::read_to_string(DEFAULT).unwrap_or_default();
        name.trim().parse()
    }

    /// Its name in the kernel.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Wrapped::Cubic => "cubic",
            Wrapped::Reno => "reno",
            Wrapped::Vegas => "vegas",
            Wrapped::Veno => "veno",
            Wrapped::Westwood => "westwood",
        }
    }

    /// All names, for messages.
    pub(crate) fn list() -> String {
        let quoted = Self::ALL.map(|wrapped| format!("\"{wrapped}\""));
        let [first @ .., last] = &quoted;
        format!("{} and {last}", first.join(", "))
    }
}

impl FromStr for Wrapped {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|wrapped| wrapped.name() == name)
            .ok_or_else(|| Error::NotWrapped(name.to_owned()))
    }
}

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_wrapped_is_refused_with_those_that_can() {
        assert_eq!("veno".parse::<Wrapped>().ok(), Some(Wrapped::Veno));
        let refused = "bbr".parse::<Wrapped>().map_err(|error| error.to_string());
        assert_eq!(
            refused,
            Err("\"bbr\" is no congestion control that can be boosted; those are \"cubic\", \"reno\", \"vegas\", \"veno\" and \
                 \"westwood\""
                .to_owned())
        );
    }
}
