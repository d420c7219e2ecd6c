"""Header: 8 bytes before each block hold its class, written at every allocation and read at every free."""

from heapsmith.model.policy.classifier.slab_map import superslab_place as superslab_place

NAME = "header"
HEADER_BYTES = 8
