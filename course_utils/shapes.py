"""Shape annotations.

Annotations such as ``Float[Tensor, "B H T D"]`` come from jaxtyping. They are enforced in the
tests only, so the course runs without that package.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
else:
    try:
        from jaxtyping import Bool, Float, Int
    except ImportError:

        class _PlainAnnotation:
            """Stands in for a jaxtyping annotation: ``Float[Tensor, "T D"]`` is ``Tensor``."""

            def __class_getitem__(cls, item):
                return item[0]

        Bool = Float = Int = _PlainAnnotation

__all__ = ["Bool", "Float", "Int"]
