//! A system of linear equations over GF(2^8) whose values are buffers.
//!
//! Each equation is a sum of scaled unknown buffers. The system stays in reduced form (Gauss-Jordan): every
//! equation has a *pivot*, an unknown that is in no other equation. An equation of one unknown is its value.

use crate::field;
use std::collections::VecDeque;

/// A sum of scaled unknowns.
#[derive(Debug, Default)]
pub(crate) struct Equation<K> {
    /// Unknowns and scale factors; the pivot is first, with factor 1.
    terms: Vec<(K, u8)>,
    sum: Vec<u8>,
}

impl<K: Copy + Eq> Equation<K> {
    fn scale_of(&self, unknown: K) -> Option<u8> {
        self.terms.iter().find(|term| term.0 == unknown).map(|term| term.1)
    }

    /// Adds a multiple of another equation.
    fn add(&mut self, other: &Self, by: u8) {
        for &(unknown, scale) in &other.terms {
            let scale = field::multiply(scale, by);
            match self.terms.iter_mut().find(|term| term.0 == unknown) {
                Some(term) => term.1 ^= scale,
                None => self.terms.push((unknown, scale)),
            }
        }
        self.terms.retain(|term| term.1 != 0);
        field::add_scaled(&mut self.sum, &other.sum, by);
    }

    /// The unknown that it alone determines.
    fn solves(&self) -> Option<K> {
        if let [(unknown, _)] = self.terms[..] { Some(unknown) } else { None }
    }
}

/// The equations, oldest first.
#[derive(Debug)]
pub(crate) struct System<K> {
    equations: VecDeque<Equation<K>>,
}

impl<K> Default for System<K> {
    fn default() -> Self {
        Self { equations: VecDeque::new() }
    }
}

impl<K: Copy + Eq> System<K> {
    pub fn is_empty(&self) -> bool {
        self.equations.is_empty()
    }

    pub fn len(&self) -> usize {
        self.equations.len()
    }

    /// Bytes of all sums.
    pub fn bytes(&self) -> usize {
        self.equations.iter().map(|it| it.sum.len()).sum()
    }

    /// Adds an equation. Whether it says something new; its buffer comes back if not.
    pub fn insert(&mut self, terms: Vec<(K, u8)>, sum: Vec<u8>) -> Result<(), Vec<u8>> {
        let mut new = Equation { terms, sum };
        for known in &self.equations {
            if let Some(by) = known.terms.first().and_then(|pivot| new.scale_of(pivot.0)) {
                new.add(known, by);
            }
        }
        let Some(&(pivot, scale)) = new.terms.first() else { return Err(new.sum) };
        let by = field::inverse(scale);
        new.terms.iter_mut().for_each(|term| term.1 = field::multiply(term.1, by));
        field::multiply_all(&mut new.sum, by);
        for known in &mut self.equations {
            if let Some(by) = known.scale_of(pivot) {
                known.add(&new, by);
            }
        }
        self.equations.push_back(new);
        Ok(())
    }

    /// Notes the value of an unknown.
    pub fn substitute(&mut self, unknown: K, value: &[u8]) {
        let mut without_pivot = Vec::new();
        let mut at = 0;
        while at < self.equations.len() {
            let known = &mut self.equations[at];
            let Some(term) = known.terms.iter().position(|term| term.0 == unknown) else {
                at += 1;
                continue;
            };
            let (_, scale) = known.terms.remove(term);
            if known.sum.len() < value.len() {
                known.sum.resize(value.len(), 0);
            }
            field::over_scaled(&mut known.sum, value, scale);
            if term == 0 {
                without_pivot.extend(self.equations.remove(at));
            } else {
                at += 1;
            }
        }
        for equation in without_pivot {
            let _ = self.insert(equation.terms, equation.sum);
        }
    }

    /// The value of an unknown, if one equation determines it. Zeros may follow it.
    pub fn value(&self, unknown: K) -> Option<&[u8]> {
        let solving = self.equations.iter().find(|it| it.solves() == Some(unknown));
        solving.map(|it| it.sum.as_slice())
    }

    /// Takes out an unknown that is determined, and its value. Zeros may follow it.
    pub fn take_solved(&mut self) -> Option<(K, Vec<u8>)> {
        let at = self.equations.iter().position(|it| it.solves().is_some())?;
        let equation = self.equations.remove(at)?;
        Some((equation.solves()?, equation.sum))
    }

    /// The unknowns that equations determine as soon as others are known: the pivots.
    pub fn pivots(&self) -> impl Iterator<Item = K> {
        self.equations.iter().filter_map(|it| it.terms.first()).map(|pivot| pivot.0)
    }

    /// Drops the oldest equation.
    pub fn drop_oldest(&mut self) {
        self.equations.pop_front();
    }

    /// Eliminates unknowns that are given up. Each costs one equation.
    pub fn give_up(&mut self, is_given_up: impl Fn(K) -> bool) {
        let given_up = |it: &Equation<K>| it.terms.iter().copied().find(|term| is_given_up(term.0));
        while let Some((at, (unknown, scale))) =
            self.equations.iter().enumerate().find_map(|(at, it)| Some((at, given_up(it)?)))
        {
            let Some(gone) = self.equations.remove(at) else { return };
            for known in &mut self.equations {
                if let Some(other) = known.scale_of(unknown) {
                    known.add(&gone, field::multiply(other, field::inverse(scale)));
                }
            }
        }
    }

    /// Whether every equation has a pivot of its own.
    #[cfg(test)]
    pub fn is_reduced(&self) -> bool {
        self.equations.iter().enumerate().all(|(at, one)| {
            let (pivot, scale) = one.terms[0];
            let mut others = self.equations.iter().enumerate().filter(|other| other.0 != at);
            scale == 1 && others.all(|(_, other)| other.scale_of(pivot).is_none())
        })
    }
}
