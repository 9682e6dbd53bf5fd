"""The lectures' claims: run again on fresh seeds, judged, and written where they are said."""
