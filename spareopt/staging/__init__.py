"""Plan over quarters: what is bought, staffed and run in each, and a proof over the whole horizon."""
