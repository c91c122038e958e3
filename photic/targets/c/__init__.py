"""The c target: generated C, compiled by ziglang's Clang, on this machine's cores."""
