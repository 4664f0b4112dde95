"""What a person sees while and after training: console, TensorBoard, run folder, plots. Heavy imports are lazy."""
