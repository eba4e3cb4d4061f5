"""The files of deploy/ agree with each other, with the gateway, and with the processes that run."""
