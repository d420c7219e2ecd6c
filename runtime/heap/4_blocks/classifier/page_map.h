/* Classifier "page map": bytes of the map for each slab, for the span's tables. */
#pragma once

#define CLASS_MAP_BYTES MAP_PAGES
