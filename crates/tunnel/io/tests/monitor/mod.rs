//! A monitor interface without a radio: a TAP device of that kind that receives the frames written to it.

use capture::{CaptureReader, LinkType, Source};
use io::sniffer::Sniffer;
use lab::{Namespace, Run};
use nix::libc;
use std::os::fd::AsRawFd;
use std::path::Path;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// ARPHRD_IEEE80211_RADIOTAP.
pub const RADIOTAP: u16 = 803;
/// ARPHRD_IEEE80211.
const IEEE80211: u16 = 801;
/// ARPHRD_ETHER.
pub const ETHERNET: u16 = 1;
/// Fields of a data frame from duration to sequence control: fragment 0.
const ADDRESSES: [u8; 22] = [0, 0, 4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 0x10, 0];

pub struct Monitor {
    pub namespace: Namespace,
    device: SyncDevice,
}

impl Monitor {
    pub fn make(run: &Run, hardware: u16) -> Self {
        let [namespace] =
            <[Namespace; 1]>::try_from(Namespace::make(run, &["monitor"]).unwrap()).ok().unwrap();
        let device = namespace.enter(|| tap(hardware)).unwrap();
        namespace.ip("link set wlan0mon up").unwrap();
        Monitor { namespace, device }
    }

    pub fn sniffer(&self, ports: &[u16]) -> Sniffer {
        self.namespace.enter(|| Sniffer::open("wlan0mon", ports).unwrap()).unwrap()
    }

    /// Delivers a frame as if from the air.
    pub fn receives(&self, frame: &[u8]) {
        assert_eq!(self.device.send(frame).unwrap(), frame.len());
    }
}

#[allow(unsafe_code)] // no library sets a TAP's kind
fn tap(hardware: u16) -> SyncDevice {
    const TUNSETLINK: libc::Ioctl = 0x4004_54cd_u32 as libc::Ioctl;
    let device = DeviceBuilder::new().name("wlan0mon").layer(Layer::L2).enable(false).build_sync().unwrap();
    // SAFETY: the request takes its argument by value, and the descriptor is open.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), TUNSETLINK, libc::c_ulong::from(hardware)) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    device
}

/// An 802.11 data frame with these first bytes, `more` behind its header, and a packet.
pub fn data(control: u8, flags: u8, more: &[u8], packet: &[u8]) -> Vec<u8> {
    [&[control, flags][..], &ADDRESSES, more, &snap(packet)].concat()
}

/// An A-MSDU.
pub fn aggregate(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut frame = [&[0x88, 2][..], &ADDRESSES, &[0x80, 0]].concat();
    for packet in packets {
        let payload = snap(packet);
        frame.extend([4; 12]);
        frame.extend((payload.len() as u16).to_be_bytes());
        frame.extend(&payload);
        frame.resize(frame.len() + (4 - (14 + payload.len()) % 4) % 4, 0);
    }
    frame
}

fn snap(packet: &[u8]) -> Vec<u8> {
    [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], packet].concat()
}

/// A frame behind a radiotap header with these flags.
pub fn tapped(flags: u8, frame: &[u8]) -> Vec<u8> {
    [&[0, 0, 9, 0, 2, 0, 0, 0, flags][..], frame].concat()
}

/// The frames of a recording, all of one link type.
pub struct Frames {
    pub link_type: LinkType,
    pub frames: Vec<Vec<u8>>,
}

impl Frames {
    pub fn hardware(&self) -> u16 {
        if self.link_type == LinkType::IEEE802_11 { IEEE80211 } else { RADIOTAP }
    }
}

/// A recording of the evaluation data; `None` without the data.
pub fn recorded(name: &str) -> Option<Frames> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/data/wifi")).join(name);
    if !path.exists() {
        println!("left out: {name} of ../shared/data is not here");
        return None;
    }
    let mut reader = CaptureReader::new(Source::open(&path).unwrap()).unwrap();
    let (mut link_type, mut frames) = (LinkType::IEEE802_11_RADIOTAP, Vec::new());
    while let Some(frame) = reader.next_frame() {
        link_type = frame.link_type;
        // A TAP takes no frame shorter than Ethernet's header.
        if frame.bytes.len() >= 14 {
            frames.push(frame.bytes.to_vec());
        }
    }
    Some(Frames { link_type, frames })
}
