"""What several test folders share: databases, applications, real servers."""
