"""The lecture's explorer."""

from lectures.l02_softmax.explorers.softmax import SoftmaxJacobian

__all__ = ["explore_softmax"]

explore_softmax = SoftmaxJacobian
