//! The bodies of frames, each read by the parser of its type.

use crate::Malformed;
use crate::chunk_request::ChunkRequest;
use crate::coded::Coded;
use crate::frame::{FrameType, Reduced, with_frame_types};
use crate::group::{Heard, HeardOfOther, Joined, Membership, OtherGroup, Shared};
use crate::neighbours::Message;
use crate::notice::Notice;
use crate::receipt::Receipt;
use crate::repair::Repair;
use crate::request::Request;
use crate::short::Outline;
use crate::store_bounds::StoreBounds;
use crate::stream::{Abort, Credit, Data, End, Open, Stored};

macro_rules! parsers {
    ($($(#[$doc:meta])* $variant:ident = $number:literal, $name:literal, $class:ident $([$plain:ident])?
        $(, $body:ident)?;)*) => {
        /// Reads a body as a frame of this type. Bodies without a structure are always well-formed.
        pub fn check(frame_type: FrameType, body: &[u8]) -> Result<(), Malformed> {
            match frame_type {
                $(FrameType::$variant => parsers!(@read body $($body)?),)*
            }
        }
    };
    (@read $bytes:ident $body:ident) => { $body::parse($bytes).map(|_| ()) };
    (@read $bytes:ident) => { Ok(()) };
}

with_frame_types!(parsers);
