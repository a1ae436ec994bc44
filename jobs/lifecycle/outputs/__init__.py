"""What remote workers hand over, from the first file to the completed job: take, finalize, hand over, or collect."""
