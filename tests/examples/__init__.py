"""The examples do what their pages say, on the machine that the tests run on."""
