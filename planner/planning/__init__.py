"""From a run to a plan: resolve names, choose what was left open, evaluate, explain."""
