//! The command as people run it, each test in a folder of its own.
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
