"""The commands of ``crossfade``, a file each: thin layers over the functions of :mod:`crossfade`."""
