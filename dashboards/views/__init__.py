"""The pages of the dashboard, one file each, run by streamlit from top to bottom."""
