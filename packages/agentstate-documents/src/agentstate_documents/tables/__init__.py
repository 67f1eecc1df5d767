"""One module per database; import the one you use."""
