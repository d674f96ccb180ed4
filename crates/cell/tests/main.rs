//! All tests of crossfade-cell as modules of one program, which is linked once.

mod adaptation;
mod conservation;
mod fabric;
mod uplink;
