"""Every picture of a result as a function on matplotlib axes: for notebooks, reports and result folders."""
