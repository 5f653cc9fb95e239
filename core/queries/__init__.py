"""Questions to a Synopsis: post-processing, so no answer spends epsilon. No function here takes anything private."""
