"""The experiments: claims of an allocator's log book, each predicted and measured here."""
