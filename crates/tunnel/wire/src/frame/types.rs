//! The one list of frame types. Numbers, names, classes, parsers, fuzz targets, the dissector's tables and
//! the specification's table follow from it.

/// Hands the list to the macro `$then`. A row is a variant, a number, the name in the specification, a class,
/// `[plain]` if the type is spoken in the plain tunnel ([`crate::unit::PLAIN`]), and the type that parses a
/// body with a structure.
macro_rules! with_frame_types {
    ($then:ident) => {
        $then! {
            /// Nothing: fills a datagram to a size.
            Padding = 0, "padding", Control [plain];
            /// An IP packet as it is. Takes a link sequence.
            Packet = 1, "packet", Packet [plain];
            /// A reduced IP packet with a compact shim. Takes a link sequence.
            ReducedCompact = 2, "reduced", Packet, Reduced;
            /// A reduced IP packet with the byte-caching paper's 14-byte fields. Reserved for experiments:
            /// other nodes cannot read it. Takes a link sequence.
            ReducedPaper = 3, "reduced, paper's form", Packet, Reduced;
            /// Receipt of the other end: [`crate::receipt::Receipt`].
            Receipt = 4, "receipt", Control, Receipt;
            /// Packets asked for again: [`crate::request::Request`].
            Request = 5, "request", Control, Request;
            /// An IP packet sent before, as it was: its link sequence (24 bits), then its bytes. It takes no
            /// link sequence of its own.
            Reply = 6, "reply", Reply;
            /// Asks for a [`FrameType::Pong`] with the same 8 bytes.
            Ping = 7, "ping", Control [plain];
            /// Answers a ping.
            Pong = 8, "pong", Control [plain];
            /// The receiver's store was lost: its new generation (8 bits).
            Flushed = 9, "flushed", Control;
            /// The peer is going away; its session ends.
            Close = 10, "close", Control [plain];
            /// A [`FrameType::Packet`] sent before and lost: its link sequence (24 bits), then its body. This
            /// and the next three take no link sequence of their own.
            AgainPacket = 11, "again: packet", Again;
            /// A [`FrameType::ReducedCompact`] sent before and lost: its link sequence (24 bits), then its
            /// body.
            AgainReduced = 12, "again: reduced", Again;
            /// As [`FrameType::AgainPacket`], for the receiver's store only: it was lost to congestion, which
            /// the end hosts must hear of.
            StorePacket = 13, "store: packet", Again;
            /// As [`FrameType::AgainReduced`], for the store only.
            StoreReduced = 14, "store: reduced", Again;
            /// An IP packet whose header or literals were made shorter, reduced or not. Takes a link
            /// sequence.
            Short = 15, "short", Packet, Outline;
            /// A [`FrameType::Short`] sent before and lost: its link sequence (24 bits), then its body.
            AgainShort = 16, "again: short", Again;
            /// As [`FrameType::AgainShort`], for the store only.
            StoreShort = 17, "store: short", Again;
            /// Asks for a [`FrameType::Pong`] with its first 8 bytes. The following bytes fill a datagram to
            /// a size that is tried on the path (RFC 8899). It is the first frame of its unit, and such a
            /// unit takes no link sequence: its loss is no loss of a packet.
            Probe = 18, "probe", Control [plain];
            /// The sender's lane (8 bits), from 1; absent for the first lane. It is the first frame of its
            /// unit. By it a receiver distinguishes a peer with several ports from a peer that moved.
            Lane = 19, "lane", Control;
            /// The front of a packet's frame that did not fit as a whole: that frame's type (8 bits), then as
            /// much of its body as fills the unit. Takes the packet's link sequence; [`FrameType::Tail`]
            /// follows in the next unit.
            Head = 20, "head", Head;
            /// The rest of the frame whose [`FrameType::Head`] closed the unit before. It takes no link
            /// sequence: the packet's is the one before the unit's first.
            Tail = 21, "tail", Control;
            /// A packet's frame of which chunks that its receiver has were removed: [`crate::group::Shared`].
            /// Takes a link sequence. It stands in units under a group's key only.
            Shared = 22, "shared", Packet, Shared;
            /// Makes the receiver a member of the sender's group: [`crate::group::Membership`].
            Membership = 23, "membership", Control, Membership;
            /// The sender is a member now: [`crate::group::Joined`].
            Joined = 24, "joined", Control, Joined;
            /// Numbers of overheard packets that were sent to others of the sender's group:
            /// [`crate::group::Heard`].
            Heard = 25, "heard", Control, Heard;
            /// Chunks that the sender lacks: [`crate::chunk_request`].
            ChunkRequest = 26, "chunk request", Control, ChunkRequest;
            /// Chunks that were asked for: the number (24 bits) under which they are sent, then a
            /// [`crate::chunk_reply`]. It stands in units under a group's key only.
            ChunkReply = 27, "chunk reply", Control;
            /// A TCP segment that was lost, combined with others: [`crate::coded`]. It takes no link
            /// sequence.
            Coded = 28, "coded", Control, Coded;
            /// Stretches of a TCP flow that the hop lost on their way to the sender of this:
            /// [`crate::notice`].
            Notice = 29, "notice", Control, Notice;
            /// A message between gateways of one operator: [`crate::neighbours::Message`].
            Neighbour = 30, "neighbour", Control, Message;
            /// Whether the sender, which knows several gateways, is associated with the receiver: 0 if with
            /// another one, otherwise which of its associations this is, counted from 1 to 255 and again from
            /// 1 (8 bits). A new one begins with an empty cache.
            Associated = 31, "associated", Control;
            /// The group of another gateway, which the receiver may overhear: [`crate::group::OtherGroup`].
            OtherGroup = 32, "other group", Control, OtherGroup;
            /// Numbers of overheard packets of another gateway's group: [`crate::group::HeardOfOther`].
            HeardOfOther = 33, "heard of other", Control, HeardOfOther;
            /// Natives for several members as one XOR: [`crate::natives`]. It is all of a group's unit, and
            /// its members take their link sequences from it.
            Natives = 34, "natives", Control;
            /// A reduced IP packet with chunks named by their SHA-1. Reserved for experiments: other nodes
            /// cannot read it. Takes a link sequence.
            ReducedHashed = 35, "reduced, hashed", Packet, Reduced;
            /// A sum of earlier units, by which lost ones are restored: [`crate::repair`]. It is all of its
            /// unit, which takes no link sequence.
            Repair = 36, "repair", Control, Repair;
            /// A TCP connection begins at the far end: [`crate::stream::Open`].
            StreamOpen = 37, "stream: open", Stream, Open;
            /// Bytes of a stream: [`crate::stream::Data`].
            StreamData = 38, "stream: data", Stream, Data;
            /// A stream's direction has no further bytes: [`crate::stream::End`].
            StreamEnd = 39, "stream: end", Stream, End;
            /// Room for a stream's bytes: [`crate::stream::Credit`].
            StreamCredit = 40, "stream: credit", Stream, Credit;
            /// A stream ends before its end: [`crate::stream::Abort`].
            StreamAbort = 41, "stream: abort", Stream, Abort;
            /// Records of streams that the sender keeps: [`crate::stream::Stored`].
            StreamStored = 42, "stream: stored", Stream, Stored;
            /// Bounds of the sender's stores: [`crate::store_bounds`].
            StoreBounds = 43, "store bounds", Control, StoreBounds;
            /// An IP packet as it is, which neither end stores: later packets do not refer to it. Takes a
            /// link sequence.
            Unstored = 44, "unstored", Packet;
            /// A [`FrameType::Unstored`] sent before and lost: its link sequence (24 bits), then its body.
            AgainUnstored = 45, "again: unstored", Again;
        }
    };
}
pub(crate) use with_frame_types;

/// The relation of a frame to link sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// It takes no sequence.
    Control,
    /// A packet that is sent for the first time, whole. It takes a sequence.
    Packet,
    /// The front of a packet. It takes the packet's sequence.
    Head,
    /// A packet that was sent before, behind its sequence.
    Again,
    /// A packet that was asked for, behind its sequence.
    Reply,
    /// A part of a stream. It takes no sequence, and means the same however late it comes.
    Stream,
}

macro_rules! enumeration {
    ($($(#[$doc:meta])* $variant:ident = $number:literal, $name:literal, $class:ident $([$plain:ident])?
        $(, $body:ident)?;)*) => {
        /// The types of frames.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum FrameType {
            $($(#[$doc])* $variant = $number,)*
        }

        impl FrameType {
            /// All types, by rising number from 0 on.
            pub const ALL: &'static [FrameType] = &[$(FrameType::$variant),*];

            /// The name in the specification.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(FrameType::$variant => $name,)*
                }
            }

            /// The relation to link sequences.
            #[must_use]
            pub fn class(self) -> Class {
                match self {
                    $(FrameType::$variant => Class::$class,)*
                }
            }

            /// Whether a frame of this type is spoken in the plain tunnel. What these mean never changes.
            #[must_use]
            pub fn is_plain(self) -> bool {
                match self {
                    $(FrameType::$variant => !stringify!($($plain)?).is_empty(),)*
                }
            }
        }
    };
}

with_frame_types!(enumeration);

impl FrameType {
    /// The type with this number, if it is known.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Whether a frame of this type holds a packet that was sent before, behind the packet's link sequence.
    #[must_use]
    pub fn is_again(self) -> bool {
        self.class() == Class::Again
    }

    /// Whether a frame of this type is a packet that is sent for the first time, whole.
    #[must_use]
    pub fn is_packet(self) -> bool {
        self.class() == Class::Packet
    }

    /// Whether a [`FrameType::Shared`], or natives, may carry a frame of this type.
    #[must_use]
    pub fn may_be_shared(self) -> bool {
        self.is_packet() && !matches!(self, FrameType::Shared | FrameType::Unstored)
    }

    /// The type under which such a packet is sent again: to the end hosts, or `for_store`, to the receiver's
    /// store alone. `None`: nothing is stored.
    #[must_use]
    pub fn sent_again(self, for_store: bool) -> Option<Self> {
        match (self, for_store) {
            (FrameType::Short, false) => Some(FrameType::AgainShort),
            (FrameType::Short, true) => Some(FrameType::StoreShort),
            (FrameType::ReducedCompact, false) => Some(FrameType::AgainReduced),
            (FrameType::ReducedCompact, true) => Some(FrameType::StoreReduced),
            (FrameType::Unstored, false) => Some(FrameType::AgainUnstored),
            (FrameType::Unstored, true) => None,
            (_, false) => Some(FrameType::AgainPacket),
            (_, true) => Some(FrameType::StorePacket),
        }
    }

    /// Whether both ends store the packet of a frame of this type.
    #[must_use]
    pub fn is_stored(self) -> bool {
        !matches!(self, FrameType::Unstored | FrameType::AgainUnstored)
    }

    /// Whether a frame of this type takes a link sequence.
    #[must_use]
    pub fn takes_sequence(self) -> bool {
        matches!(self.class(), Class::Packet | Class::Head)
    }

    /// Whether a frame of this type names a packet by its link sequence.
    #[must_use]
    pub fn names_sequence(self) -> bool {
        matches!(self.class(), Class::Again | Class::Reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_stands_in_the_list_at_its_number() {
        for (at, frame_type) in FrameType::ALL.iter().enumerate() {
            assert_eq!(*frame_type as usize, at);
            assert_eq!(FrameType::from_number(at as u8), Some(*frame_type));
        }
        assert_eq!(FrameType::from_number(FrameType::ALL.len() as u8), None);
        let plain: Vec<_> = FrameType::ALL.iter().filter(|it| it.is_plain()).map(|it| *it as u8).collect();
        assert_eq!(plain, [0, 1, 7, 8, 10, 18], "these stay so for ever");
    }
}
