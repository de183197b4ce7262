#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What the environment asks of a test run: longer runs than every push can afford.
public enum TestEnvironment {
    public static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
