"""Figures from outside (calibrated rates, price lists, contracts, edited workbooks) that change an instance."""
