//! Linux: TUN devices, UDP sockets, routes and rules.
