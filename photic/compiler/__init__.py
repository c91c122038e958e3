"""From graph to running program: the passes, the memory plan, the runtime, saved programs."""
