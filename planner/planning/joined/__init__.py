"""The scaling law joined to the planner: what money or days buy at the speed each size reaches."""
