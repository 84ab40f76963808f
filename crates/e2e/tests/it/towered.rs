//! The tower layer over sockets, among the layers of others, and in the frameworks that are made of services.

mod among;
mod examples;
mod faults;
