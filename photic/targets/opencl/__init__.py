"""The opencl target: OpenCL C for any device that has a driver, a processor's (PoCL) included."""
