//! Whether local TCP senders enlarge their congestion windows by the removed bytes.

use super::Mistake;
use super::file::File;
use std::path::Path;

/// The congestion control to wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boost {
    /// The default of this host, if it can be wrapped.
    Usual,
    /// This one, whatever the default is.
    Wrapping(::boost::Wrapped),
}

/// The value of `[tunnel] boost` in the file at `path`; `None` if it is off.
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
