"""How fast the library is, and what published bugs cost: each page of docs/ has its command."""
