// FirnQuery
