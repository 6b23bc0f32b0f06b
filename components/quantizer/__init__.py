"""Quantizer: TFLite models of one float model."""
