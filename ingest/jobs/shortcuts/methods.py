"""The shortcuts that there are ([D] 3, 4)."""

ID, MAT = "id", "mat"
OF_PARTS = ("mat_attn", "mat_ffn", "mat_ln1_ln2")
"""Those that stand in for parts of a block, where the parts can be told from each other."""

METHODS = (ID, MAT, *OF_PARTS)
