"""The image and the deployment of the repository's own files, built and run without Docker."""
