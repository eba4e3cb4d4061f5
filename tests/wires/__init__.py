"""Random conversations in every form, against providers that refuse what real ones refuse."""
