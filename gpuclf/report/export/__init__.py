"""A run's model for other programs: text weights, arrays for scikit-learn, ONNX graphs (`gpuclf export`)."""
