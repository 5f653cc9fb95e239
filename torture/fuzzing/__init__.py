"""What `torture.fuzz` sends: requests made from the OpenAPI document, and damaged files of every upload format."""
