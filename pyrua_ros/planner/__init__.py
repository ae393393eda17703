"""The planner: asks a model for the next cell, has it run, keeps the budget, writes the run folder."""
