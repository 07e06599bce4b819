"""The passes, one file each; ``pipelines.py`` names their order."""
