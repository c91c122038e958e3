"""Files of other systems to graphs, and back: one folder or file a format."""
