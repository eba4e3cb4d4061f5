"""The cost of public calls on hostile inputs: the inputs, and the program that measures."""
