//! Groups: stations may hear a gateway's packets to another station, and the gateway does not send that
//! content to them again (REfactor; [`overhear`] cuts, removes and puts together).
//!
//! A gateway with several stations *shares*: packets travel under a key that all members of its group have
//! ([`sharing`]), so that each overhearer can learn from them. A listening station becomes a *member*
//! ([`member`]). Its pairwise key brings it the group's key. After its answer, its packets come in the
//! group's units. At its end it is a *listener* ([`listener`]). It opens its own packets from the socket, and
//! packets for others from the sniffer. It restores the former, learns from both, and reports to the gateway
//! ([`heard`]).
//!
//! Nothing of a link changes under it. A shared packet has its link sequence, and the same receipts confirm
//! it. If it is lost, it is retransmitted under the pairwise key, as the frame before it was shared.
//! [`wire::group`] describes the proofs and their keys.
//!
//! Where an operator has several gateways, members hear the others' groups, too ([`others`]), and gateways
//! tell each other who heard what ([`neighbours`]).
//!
//! A packet that does not fit is cut at its datagram's end, as without a group. An overhearer keeps the front
//! until the rest arrives ([`pieces`]).
//!
//! Where sharing costs more air time than it saves, it pauses ([`balance`]).
//!
//! When a member leaves, the others get another key: distribute, switch, retire. Until a member has it, its
//! packets travel under its own key.

mod balance;
pub(crate) mod coding;
mod heard;
mod listener;
mod member;
mod neighbours;
mod others;
mod pieces;
mod roles;
mod sharing;

pub(crate) use balance::Turn;
pub(crate) use heard::Untold;
pub(crate) use listener::{Listener, Rest};
pub(crate) use member::Member;
pub(crate) use neighbours::Neighbours;
pub(crate) use pieces::RestAt;
pub(crate) use roles::Roles;
pub(crate) use sharing::Sharing;
