"""Measurements that answer a question of the pages once; none of them fails."""
