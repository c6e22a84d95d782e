"""Warehouses that the tests of commands share."""

from tests.support.by_hand import empty, empty_path, full, full_path, whole_path

__all__ = ["empty", "empty_path", "full", "full_path", "whole_path"]
