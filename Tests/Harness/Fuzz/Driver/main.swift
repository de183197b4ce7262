import FuzzTargets

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

// firn-fuzz TARGET FILE...: runs a target on each file, as libFuzzer would. `firn-fuzz TARGET --seeds FOLDER` writes
// the inputs that fuzzing begins with.
//
// Built with FIRN_FUZZER (`Tools/fuzz`), the program is libFuzzer's driver, and the environment variable
// FIRN_FUZZ_TARGET names the target.

func fail(_ text: String) -> Never {
    let bytes = Array("firn-fuzz: \(text)\n".utf8)
    _ = write(2, bytes, bytes.count)
    exit(2)
}

func target(_ name: String) -> FuzzTarget {
    guard let target = FuzzTarget(rawValue: name) else {
        fail("there is no target \(name); there are \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return target
}

func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

func writeSeeds(_ folder: String) {
    for (index, seed) in chosen.seeds.enumerated() {
        let path = "\(folder)/seed-\(chosen.rawValue)-\(index)"
        guard let file = fopen(path, "wb") else { fail("\(path) cannot be written") }
        fwrite(seed, 1, seed.count, file)
        fclose(file)
    }
}

func read(_ path: String) -> [UInt8] {
    guard let file = fopen(path, "rb") else { fail("\(path) cannot be read") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = fread(&piece, 1, piece.count, file)
        if count == 0 { return bytes }
        bytes += piece[..<count]
    }
}

#if FIRN_FUZZER
    @_silgen_name("LLVMFuzzerRunDriver")
    func runDriver(
        _ count: UnsafeMutablePointer<CInt>,
        _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
        _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
    ) -> CInt

    let chosen = target(environment("FIRN_FUZZ_TARGET") ?? "")
    if let folder = environment("FIRN_FUZZ_SEEDS") {
        writeSeeds(folder)
        exit(0)
    }
    var count = CommandLine.argc
    var arguments = CommandLine.unsafeArgv
    exit(
        runDriver(&count, &arguments) { bytes, count in
            chosen.run([UInt8](UnsafeBufferPointer(start: bytes, count: count)))
            return 0
        })
#else
    let words = Array(CommandLine.arguments.dropFirst())
    guard words.count >= 2 else { fail("usage: firn-fuzz TARGET FILE... | firn-fuzz TARGET --seeds FOLDER") }
    let chosen = target(words[0])
    if words[1] == "--seeds", words.count == 3 {
        writeSeeds(words[2])
    } else {
        for path in words.dropFirst() {
            // Printed before the run, so that the output names the file that crashes.
            let bytes = Array("\(path)\n".utf8)
            _ = write(1, bytes, bytes.count)
            chosen.run(read(path))
        }
        print("done")
    }
#endif
