"""Plans campaigns, stores outcomes, reports them. May import `workers` and `wm`."""
