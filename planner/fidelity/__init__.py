"""Our own error: published runs as plans, fitted constants, intervals, calibration."""
