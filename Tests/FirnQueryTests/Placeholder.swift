// Tests of FirnQuery.
