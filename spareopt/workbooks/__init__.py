"""A plan as an Excel workbook: sheets, formulas where a planner changes a number, the inputs to be edited."""
