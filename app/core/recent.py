"""What was used last, up to a number of things."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """A dictionary of at most ``size`` things that forgets what was not asked for the longest. Safe for threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Value | None:
        """The thing, which counts as used now; None where there is none."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Keep it, and forget what was not used for longest."""
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._size:
                self._values.popitem(last=False)

    def of(self, key: Key, make: Callable[[], Value]) -> Value:
        """The thing, made where it is not kept. What can't be kept, since its key holds a list, is made each time."""
        try:
            known = self.get(key)
        except TypeError:  # unhashable
            return make()
        if known is None:
            known = make()
            self.put(key, known)
        return known

    def pop(self, key: Key) -> Value | None:
        """The thing, which is not kept any more; None where there is none."""
        with self._lock:
            return self._values.pop(key, None)
