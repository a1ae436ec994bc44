"""How a file of the storage is sent: whole or in part, block by block. For viewers of videos and for remote workers."""
