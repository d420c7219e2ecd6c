"""The Python interface: typed functions and results over the model, the code generator and the tools."""
