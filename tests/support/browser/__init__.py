"""The dashboard: a real Chromium, a server with data to show, and visitors who sign in without a browser."""
