//! Runs the command as users do, each test in a directory of its own.
#![allow(missing_docs)]

mod advise;
mod beyond;
mod columns;
mod compare;
mod files;
mod good;
mod index;
mod mistakes;
mod models;
mod one_table;
mod package;
mod reproduce;
mod results;
mod serve;
mod size;
mod store;
mod support;
mod tables;
mod wrong;
