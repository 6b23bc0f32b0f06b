"""The tasks that come with headrace."""
