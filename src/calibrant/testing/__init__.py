"""Public doubles and conformance kits, so that a third party can prove a part of its own."""
