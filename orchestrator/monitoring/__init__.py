"""Show the state of campaigns and services: for `wm campaign status`, the live view and Prometheus."""
