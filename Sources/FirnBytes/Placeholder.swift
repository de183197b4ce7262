// FirnBytes
