"""The nearest vectors by the server's own index (pgvector), for projects with very many memories.

Law: the index only nominates. The cosines come from the stored vectors, as with any index. A small project is searched
exactly: behind an approximate index, a filter of 1% loses 96% of what it should find.
"""
