"""The program in a process of its own, without the half second in which a new interpreter loads all that it needs."""
