"""The documentation site: its pages, its pictures, and the comparison with other tools. Not part of the product.

`make site` stages the pages (`stage`) and lets Zensical build them into build/site. `make pictures` draws the pictures.
"""
