"""The lecture's explorers."""

from lectures.l08_flash_attention_tiling.explorers.addresses import Addresses
from lectures.l08_flash_attention_tiling.explorers.roofline import Roofline
from lectures.l08_flash_attention_tiling.explorers.tile_by_tile import TileByTile

__all__ = ["explore_addresses", "explore_roofline", "explore_tile_by_tile"]

explore_addresses = Addresses
explore_roofline = Roofline
explore_tile_by_tile = TileByTile
