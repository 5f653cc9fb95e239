"""Large answers as files, by pyarrow. Nothing outside of this folder needs pyarrow to answer a question."""
