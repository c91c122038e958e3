"""The hip target: HIP C++ for devices of AMD, compiled by Clang, launched by AMD's driver."""
