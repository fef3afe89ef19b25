//! The crate from outside, in one program: its tests run side by side.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests"
)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::option_option,
    reason = "tests say what they mean with literals"
)]

mod accelerators;
mod account;
mod batch_lives;
mod by_name;
mod conversion_edits;
mod conversion_random;
mod conversion_review;
mod conversion_samples;
mod conversion_status;
mod custom;
mod env_blocks;
mod exit_code_tables;
mod job_contract;
mod keys;
mod lists;
mod mlkube;
mod mlkube_batch;
mod mlkube_labels;
mod mlkube_random;
mod mlkube_status;
mod object;
mod older_defects;
mod older_ended;
mod older_group;
mod older_group_random;
mod older_in_place;
mod older_objects;
mod older_plan;
mod older_promises;
mod older_size;
mod older_taken_over;
mod older_worlds;
mod plan_adopted;
mod plan_adopted_gap;
mod plan_adopted_names;
mod plan_conditions;
mod plan_contract;
mod plan_events;
mod plan_failure;
mod plan_faults;
mod plan_in_place;
mod plan_large;
mod plan_life;
mod plan_look;
mod plan_lost;
mod plan_random;
mod plan_renamed;
mod plan_renamed_objects;
mod plan_rescale;
mod plan_stalled;
mod plan_success;
mod plan_template;
mod plan_told;
mod plan_writes;
mod random;
mod readme;
mod releases;
mod schema_text;
mod several_sets;
mod support;
mod versions;
mod wiring;
mod wiring_large;
