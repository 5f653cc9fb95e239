"""The application in the process of the test: clients for it, its routes, every way to be refused."""
