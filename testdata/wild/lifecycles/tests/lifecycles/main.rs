//! A module for each program, with its name.

mod anchor_counter;
mod anchor_market;
mod anchor_market_1;
mod anchor_shop;
mod borsh_notes;
mod bytemuck_orders;
mod market;
mod pinocchio_escrow;
mod steel_counter;
mod workspace;
