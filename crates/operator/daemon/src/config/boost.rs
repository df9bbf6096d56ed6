//! Whether TCP senders here make their congestion windows larger by what the tunnel removes.

use super::Mistake;
use super::file::File;
use std::path::Path;

/// What is wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boost {
    /// What connections here use anyway, if it can be.
    Usual,
    /// This one, whatever they use.
    Wrapping(::boost::Wrapped),
}

/// What `[tunnel] boost` means in the file at `path`; none where it is off.
pub fn boost(path: &Path, file: &File) -> Result<Option<Boost>, Mistake> {
    let control = file.tunnel.boost_control.as_deref();
    if !file.tunnel.boost {
        return match control {
            None => Ok(None),
            Some(_) => {
                let what = "belongs to boost = true; write that, or take this out";
                Err(Mistake::at(path, "[tunnel] boost_control", what))
            }
        };
    }
    if !file.tunnel.routes {
        let what = "true chooses senders by the tunnel's routes, and routes = false puts none in; take one of the two out";
        return Err(Mistake::at(path, "[tunnel] boost", what));
    }
    if file.shorten.packing == Some(false) {
        let what = "false leaves wire packets half empty, which [tunnel] boost = true has to fill; take one of the two out";
        return Err(Mistake::at(path, "[shorten] packing", what));
    }
    match control {
        None => Ok(Some(Boost::Usual)),
        Some(name) => match name.parse() {
            Ok(wrapped) => Ok(Some(Boost::Wrapping(wrapped))),
            Err(why) => Err(Mistake::at(path, "[tunnel] boost_control", why)),
        },
    }
}
