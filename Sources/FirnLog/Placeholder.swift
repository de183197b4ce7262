// FirnLog
