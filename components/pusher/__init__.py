"""Pusher: a blessed model becomes the next numbered version, whole or not at all."""
