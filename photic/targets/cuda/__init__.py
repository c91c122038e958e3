"""The cuda target: CUDA C++ for devices of NVIDIA, compiled by NVRTC, launched by the driver."""
