//! Parameters of an encoder.

use crate::form::InjectedForm;
use crate::policy::InjectedPolicy;
use crate::sharing::Sharing;
use crate::store::Keeping;
use std::fmt;
use std::str::FromStr;
use wire::frame::FrameType;

/// Encoding of regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Form {
    /// [`wire::shim::compact`]: by distance in link sequence; for production.
    #[default]
    Compact,
    /// A form of another crate.
    Injected(InjectedForm),
}

impl Form {
    /// Every form of this crate.
    pub const ALL: [Form; 1] = [Form::Compact];

    /// Type of the frames that carry packets of this form.
    #[must_use]
    pub fn frame_type(self) -> FrameType {
        match self {
            Form::Compact => FrameType::ReducedCompact,
            Form::Injected(injected) => injected.frame_type,
        }
    }
}

/// The stored packets that a packet may refer to: [`crate::policy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    /// Redundancy elimination is off.
    Off,
    /// Confirmed packets.
    Acked,
    /// Confirmed packets, and also sent ones where the hop repairs its losses.
    #[default]
    Adaptive,
    /// A policy of another crate.
    Injected(InjectedPolicy),
}

impl Policy {
    /// Every policy of this crate.
    pub const ALL: [Policy; 3] = [Policy::Off, Policy::Acked, Policy::Adaptive];

    /// Whether the sender must answer requests for packets that the receiver lacks.
    #[must_use]
    pub fn answers_requests(self) -> bool {
        matches!(self, Policy::Injected(injected) if injected.answers_requests)
    }

    /// Whether the hop retransmits its losses.
    #[must_use]
    pub fn repairs_losses(self) -> bool {
        match self {
            Policy::Off | Policy::Acked => false,
            Policy::Adaptive => true,
            Policy::Injected(injected) => injected.repairs_losses,
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Off => f.write_str("off"),
            Policy::Acked => f.write_str("acked"),
            Policy::Adaptive => f.write_str("adaptive"),
            Policy::Injected(injected) => injected.fmt(f),
        }
    }
}

impl FromStr for Policy {
    type Err = ParameterError;

    /// Parses the name of a policy of this crate.
    fn from_str(name: &str) -> Result<Self, ParameterError> {
        let unknown = || ParameterError::UnknownPolicy(name.chars().take(40).collect());
        Policy::ALL.into_iter().find(|policy| policy.to_string() == name).ok_or_else(unknown)
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::Compact => f.write_str("compact"),
            Form::Injected(injected) => injected.fmt(f),
        }
    }
}

impl FromStr for Form {
    type Err = ParameterError;

    /// Parses the name of a form of this crate.
    fn from_str(name: &str) -> Result<Self, ParameterError> {
        let unknown = || ParameterError::UnknownForm(name.chars().take(40).collect());
        Form::ALL.into_iter().find(|form| form.to_string() == name).ok_or_else(unknown)
    }
}

/// Parameters of the encoder of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// The stored packets that a packet may refer to.
    pub policy: Policy,
    /// Encoding of regions.
    pub form: Form,
    /// The flows that references reach; see [`Parameters::sharing`].
    pub sharing: Sharing,
    /// The sliding window, in bytes (paper: w).
    pub window_bytes: usize,
    /// A fingerprint is kept if this many of its low bits are zero (paper: k).
    pub sample_bits: u32,
    /// Bytes of packets that each end keeps.
    pub store_bytes: usize,
    /// The packets that share a bound; see [`Parameters::keeping`].
    pub keeping: Keeping,
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters {
            policy: Policy::default(),
            form: Form::default(),
            sharing: Sharing::default(),
            window_bytes: 16,
            sample_bits: 4,
            store_bytes: 16 << 20,
            keeping: Keeping::default(),
        }
    }
}

impl Parameters {
    /// Range of the window, in bytes.
    pub const WINDOW_BYTES: std::ops::RangeInclusive<usize> = 8..=128;
    /// The largest [`Parameters::sample_bits`].
    pub const MAX_SAMPLE_BITS: u32 = 12;
    /// Range of the store, in bytes.
    pub const STORE_BYTES: std::ops::RangeInclusive<usize> = 4096..=1 << 30;

    /// The reach of references. Injected policies and forms are published systems, which match to the byte
    /// across flows; for them the setting has no effect.
    #[must_use]
    pub fn sharing(&self) -> Sharing {
        if self.is_injected() { Sharing::ToTheByte } else { self.sharing }
    }

    /// The packets that share a bound. In injected policies and forms, all do.
    #[must_use]
    pub fn keeping(&self) -> Keeping {
        if self.is_injected() { Keeping::Together } else { self.keeping }
    }

    /// Whether policy or form is another crate's.
    pub(crate) fn is_injected(&self) -> bool {
        matches!(self.policy, Policy::Injected(_)) || matches!(self.form, Form::Injected(_))
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<(), ParameterError> {
        if !Self::WINDOW_BYTES.contains(&self.window_bytes) {
            return Err(ParameterError::Window(self.window_bytes));
        }
        if self.sample_bits > Self::MAX_SAMPLE_BITS {
            return Err(ParameterError::SampleBits(self.sample_bits));
        }
        if !Self::STORE_BYTES.contains(&self.store_bytes) {
            return Err(ParameterError::Store(self.store_bytes));
        }
        if matches!(self.policy, Policy::Injected(InjectedPolicy { k: Some(0), .. })) {
            return Err(ParameterError::Distance);
        }
        Ok(())
    }
}

/// An invalid parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The window is too small or too large.
    #[error("a window of {0} bytes is not between 8 and 128")]
    Window(usize),
    /// Too few fingerprints would be kept.
    #[error("{0} sample bits are more than 12")]
    SampleBits(u32),
    /// The store is too small or too large.
    #[error("a store of {0} bytes is not between 4 KiB and 1 GiB")]
    Store(usize),
    /// The policy takes a k, and k is 0.
    #[error("the policy needs a k of at least 1")]
    Distance,
    /// No policy has this name.
    #[error("no policy is called {0:?}; there are off, acked and adaptive")]
    UnknownPolicy(String),
    /// No form has this name.
    #[error("no form is called {0:?}; there is compact")]
    UnknownForm(String),
    /// No sharing has this name.
    #[error("no sharing is called {0:?}; write \"flow\", \"host\" or \"station\"")]
    UnknownSharing(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy;

    #[test]
    fn every_policy_and_form_reads_back_its_own_name() {
        for policy in Policy::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        for form in Form::ALL {
            assert_eq!(form.to_string().parse(), Ok(form));
        }
        for sharing in Sharing::ALL {
            assert_eq!(sharing.to_string().parse(), Ok(sharing));
        }
        assert!("ackd".parse::<Policy>().is_err());
        assert!("to-the-byte".parse::<Sharing>().is_err(), "no configuration has it");
    }

    #[test]
    fn parameters_out_of_range_are_refused_and_the_default_is_not() {
        let good = Parameters::default();
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(Parameters { window_bytes: 7, ..good }.validate(), Err(ParameterError::Window(7)));
        assert_eq!(Parameters { sample_bits: 13, ..good }.validate(), Err(ParameterError::SampleBits(13)));
        assert_eq!(Parameters { store_bytes: 0, ..good }.validate(), Err(ParameterError::Store(0)));
        let injected = InjectedPolicy {
            name: "every-kth",
            k: Some(0),
            describe: |_| "nothing".to_owned(),
            answers_requests: false,
            repairs_losses: false,
            make: |_| Box::new(policy::Off),
        };
        let no_distance = Parameters { policy: Policy::Injected(injected), ..good };
        assert_eq!(no_distance.validate(), Err(ParameterError::Distance));
    }
}
