"""What several test folders share, in folders by what it serves; fixtures.py is loaded for every test."""
