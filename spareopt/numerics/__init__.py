"""Pure functions on numbers and arrays: availability, repair and recovery; nothing here knows an instance."""
