"""The lecture's explorers."""

from lectures.l00_start_here.explorers.gradient_reach import GradientReach
from lectures.l00_start_here.explorers.kernel_regression import KernelRegression
from lectures.l00_start_here.explorers.plane import AttentionInThePlane, ThreeMatrices
from lectures.l00_start_here.explorers.real_heads import RealHeads
from lectures.l00_start_here.explorers.your_attend import YourAttend

__all__ = [
    "explore_gradient_reach",
    "explore_kernel_regression",
    "explore_plane",
    "explore_real_heads",
    "explore_roles",
    "explore_your_attend",
]

explore_plane = AttentionInThePlane
explore_real_heads = RealHeads
explore_your_attend = YourAttend
explore_roles = ThreeMatrices
explore_gradient_reach = GradientReach
explore_kernel_regression = KernelRegression
