//! Each sentence of `contract.md` and the tests that show it.
//!
//! A test says what it shows in a comment above it, a manifest in a comment of its own:
//! `// contract: 7.2.1, 7.2.3`.

pub mod contract;
