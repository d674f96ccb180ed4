//! One TCP connection over one hop.
