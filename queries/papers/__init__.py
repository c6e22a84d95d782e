"""Claims of the papers judged on a family of models; may import compare, views, names, ask and catalog."""
