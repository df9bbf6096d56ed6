//! Admission of initiations. A stranger without the network's key costs one keyed hash. A repeated initiation
//! gets the same bytes or no answer. All other answers are bounded, for each source and in sum.

mod answers;
mod cookies;
mod sources;

pub use answers::{Answer, Answers, Letter};
pub use cookies::{Cookies, SECRET_LIFETIME};
pub use sources::Sources;

use crate::session::allowance::Allowance;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use wire::handshake::MARK_BYTES;

/// Initiations without a cookie that are decrypted, a second. Beyond, a cookie is asked for.
const WITHOUT_COOKIE_PER_SECOND: u32 = 50;
/// Initiations with a cookie, a second and source; cookies that are given again, too.
const WITH_COOKIE_PER_SECOND: u32 = 5;
/// Cookies given, a second.
const COOKIES_PER_SECOND: u32 = 1000;
/// Answers that are given again elsewhere than they were asked for first, a second.
const AGAIN_ELSEWHERE_PER_SECOND: u32 = 20;

/// Bounds of the answers to initiations.
pub struct Admission {
    /// Recent answers.
    pub answers: Answers,
    /// Proof that an initiator has heard this node recently.
    pub cookies: Cookies,
    without_cookie: Allowance,
    with_cookie: Sources,
    cookies_given: Allowance,
    again_elsewhere: Allowance,
    cookies_again: Sources,
}

impl Admission {
    /// With this secret for cookies, which all shards of a node share.
    #[must_use]
    pub fn new(cookie_secret: [u8; 32], now: Duration) -> Self {
        Admission {
            answers: Answers::default(),
            cookies: Cookies::new(cookie_secret),
            without_cookie: Allowance::new(WITHOUT_COOKIE_PER_SECOND, now),
            with_cookie: Sources::new(WITH_COOKIE_PER_SECOND, now),
            cookies_given: Allowance::new(COOKIES_PER_SECOND, now),
            again_elsewhere: Allowance::new(AGAIN_ELSEWHERE_PER_SECOND, now),
            cookies_again: Sources::new(WITH_COOKIE_PER_SECOND, now),
        }
    }

    /// Whether an initiation from `source` may be decrypted now.
    pub fn admit(&mut self, now: Duration, source: IpAddr, has_cookie: bool) -> bool {
        if has_cookie { self.with_cookie.take(now, source) } else { self.without_cookie.take(now) }
    }

    /// Whether a cookie may be given now.
    pub fn may_give_cookie(&mut self, now: Duration) -> bool {
        self.cookies_given.take(now)
    }

    /// The answer to an initiation that came again, if it is to be given again to `from`: where the
    /// initiation came from first or `is_known`, and to a few others.
    pub fn answer_again(
        &mut self,
        now: Duration,
        from: SocketAddr,
        mark: [u8; MARK_BYTES],
        is_known: impl Fn(&Answer) -> bool,
    ) -> Option<&Answer> {
        let answer = self.answers.of(mark)?;
        if answer.letter == Letter::Cookie {
            return self.cookies_again.take(now, from.ip()).then_some(answer);
        }
        let may = match answer.first_from == from || is_known(answer) {
            true => answer.give_again(now),
            false => self.again_elsewhere.take(now),
        };
        may.then_some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn whoever_shows_a_cookie_is_admitted_though_others_have_used_up_the_allowance() {
        let mut admission = Admission::new([1; 32], NOW);
        let (stranger, station) = ([203, 0, 113, 1].into(), [192, 0, 2, 1].into());
        while admission.admit(NOW, stranger, false) {}
        assert!(!admission.admit(NOW, station, false));
        assert!(admission.admit(NOW, station, true));
        while admission.admit(NOW, stranger, true) {}
        assert!(admission.admit(NOW, station, true));
    }

    #[test]
    fn each_address_that_asks_again_gets_cookies_though_another_asks_all_the_time() {
        let mut admission = Admission::new([1; 32], NOW);
        let (attacker, station) = (([203, 0, 113, 1], 1).into(), ([192, 0, 2, 1], 1).into());
        let given = (NOW, 0);
        let answer = Answer { peer: 0, session: None, letter: Letter::Cookie, first_from: attacker, given };
        admission.answers.note([5; 16], Some(answer));
        let again =
            |admission: &mut Admission, from| admission.answer_again(NOW, from, [5; 16], |_| false).is_some();
        assert_eq!((0..100).filter(|_| again(&mut admission, attacker)).count(), 5);
        assert!(again(&mut admission, station));
    }

    #[test]
    fn an_answer_is_given_again_where_it_was_asked_for_though_others_ask_too() {
        let mut admission = Admission::new([1; 32], NOW);
        let at = |last| SocketAddr::from(([203, 0, 113, last], 1));
        let (letter, given) = (Letter::Unit(vec![1]), (NOW, 0));
        let answer = Answer { peer: 0, session: None, letter, first_from: at(7), given };
        admission.answers.note([5; 16], Some(answer));
        let later = NOW + Duration::from_secs(1);
        let given = |admission: &mut Admission, to| {
            admission.answer_again(later, to, [5; 16], |_| to == at(8)).is_some()
        };
        let elsewhere = (100..200).filter(|&last| given(&mut admission, at(last))).count();
        assert_eq!(elsewhere, AGAIN_ELSEWHERE_PER_SECOND as usize);
        assert!(given(&mut admission, at(7)), "where it was asked for first");
        assert!(!given(&mut admission, at(7)), "at once again");
        let later = 2 * later;
        assert!(admission.answer_again(later, at(8), [5; 16], |_| true).is_some(), "where its peer is");
    }
}
