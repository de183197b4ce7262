#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The environment variables of a test run, which ask for longer runs than every push can afford.
public enum TestEnvironment {
    public static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// How many random programs a test runs: FIRN_PROGRAMS, or as many as every push can afford.
    public static func programCount(_ affordable: Int) -> Int {
        value("FIRN_PROGRAMS").flatMap { Int($0) } ?? affordable
    }

    /// Whether a sanitizer runs in this process, which takes memory of its own for everything that is used.
    public static var hasSanitizer: Bool {
        let names: [String] = ["__tsan_init", "__asan_init"]
        return names.contains { dlsym(dlopen(nil, RTLD_NOW), $0) != nil }
    }

    /// Whether all stores of the run are encrypted: FIRN_TEST_KEY. Such a store has no scratch files, and its holes are
    /// larger.
    public static var hasKey: Bool { value("FIRN_TEST_KEY") != nil }

    /// The time limit, in minutes, of a test whose length depends on the environment: FIRN_TEST_MINUTES, or 20 as for
    /// all other tests.
    ///
    /// Tests start together and share few threads, so a test's time limit must allow for the whole run.
    public static var minutes: Int { value("FIRN_TEST_MINUTES").flatMap { Int($0) } ?? 20 }
}
