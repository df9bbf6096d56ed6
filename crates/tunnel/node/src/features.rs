//! Mechanisms that a build may leave out: overhearing and the repair of TCP segments.
//!
//! What a mechanism keeps is a [`Part`]. In a build without the mechanism it is `Absent`, which has no
//! values. Each `Option` of it is then always `None`, and the compiler removes the code behind.

use std::ops::{Deref, DerefMut};

/// A part of overhearing.
#[cfg(feature = "overhear")]
pub type Overhearing<T> = Part<T>;
/// A part of overhearing.
#[cfg(not(feature = "overhear"))]
pub type Overhearing<T> = Absent<T>;

/// A part of the repair of TCP segments.
#[cfg(feature = "snoop")]
pub type Repairing<T> = Part<T>;
/// A part of the repair of TCP segments.
#[cfg(not(feature = "snoop"))]
pub type Repairing<T> = Absent<T>;

/// Whether this build can repair TCP segments.
pub const REPAIRS: bool = cfg!(feature = "snoop");

/// A part of a mechanism that this build has.
#[cfg(any(feature = "overhear", feature = "snoop"))]
pub struct Part<T>(T);

#[cfg(any(feature = "overhear", feature = "snoop"))]
impl<T> Part<T> {
    /// The part.
    pub fn of(make: impl FnOnce() -> T) -> Option<Self> {
        Some(Part(make()))
    }
}

#[cfg(any(feature = "overhear", feature = "snoop"))]
impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[cfg(any(feature = "overhear", feature = "snoop"))]
impl<T> DerefMut for Part<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// A part of a mechanism that this build lacks: it has no values, and no size.
#[cfg(not(all(feature = "overhear", feature = "snoop")))]
pub struct Absent<T>(std::convert::Infallible, std::marker::PhantomData<T>);

#[cfg(not(all(feature = "overhear", feature = "snoop")))]
impl<T> Absent<T> {
    /// Nothing.
    pub fn of(_: impl FnOnce() -> T) -> Option<Self> {
        None
    }
}

#[cfg(not(all(feature = "overhear", feature = "snoop")))]
impl<T> Deref for Absent<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self.0 {}
    }
}

#[cfg(not(all(feature = "overhear", feature = "snoop")))]
impl<T> DerefMut for Absent<T> {
    fn deref_mut(&mut self) -> &mut T {
        match self.0 {}
    }
}
