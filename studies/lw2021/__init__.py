"""The study of Wen et al., ICML 2021: evidence, the pages made from it, and the theory verified.

It ships with the repository and is no part of the installed package; `amongst evidence` and
`amongst theory` find it here.
"""
