"""The metal target: Metal's language for devices of Apple, compiled and launched by Metal."""
