//! Namespaces, TAP radios on the emulated air, real daemons and programs; on this kernel or inside the virtual-time kernel.
