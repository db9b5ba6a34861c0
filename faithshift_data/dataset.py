"""open() a dataset folder."""

from faithshift_data.folder import write_folder as write_folder
