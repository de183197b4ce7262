#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What the environment asks of a test run: longer runs than every push can afford.
public enum TestEnvironment {
    public static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// How many minutes a test may take whose length the environment decides: FIRN_TEST_MINUTES, else 20 as for all others. Tests start together and share
    /// few threads, so the time a test is given to run is that of the whole run.
    public static var minutes: Int { value("FIRN_TEST_MINUTES").flatMap { Int($0) } ?? 20 }
}
