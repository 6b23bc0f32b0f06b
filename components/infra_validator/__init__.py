"""InfraValidator: a fresh process loads the exported model and answers real requests."""
