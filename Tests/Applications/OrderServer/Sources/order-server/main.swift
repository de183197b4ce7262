import Dispatch
import Foundation
import OrderServer

// order-server PATH [--port PORT] [--active-versions LIMIT]: serves the store in a folder, which is made if it is not
// there. Several processes may serve the same one. Prints "listening on PORT". Ends with 0 after SIGTERM.

/// The number after an option; nil if it is not given.
func number(_ option: String) -> Int? {
    let words = CommandLine.arguments
    return words.firstIndex(of: option).flatMap { words.indices.contains($0 + 1) ? Int(words[$0 + 1]) : nil }
}

/// Makes a stream that has an element when the system asks the process to end, as long as the source is kept.
func terminations() -> (any DispatchSourceSignal, AsyncStream<Void>) {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
    source.setEventHandler { continuation.yield() }
    source.activate()
    return (source, stream)
}

guard CommandLine.arguments.count > 1 else {
    FileHandle.standardError.write(Data("usage: order-server PATH [--port PORT] [--active-versions LIMIT]\n".utf8))
    exit(64)
}
do {
    let (source, shutdown) = terminations()
    defer { source.cancel() }
    let url = URL(fileURLWithPath: CommandLine.arguments[1])
    let shop = try await Shop(at: url, activeVersions: number("--active-versions").map { UInt(clamping: $0) })
    try await Server(Service(shop)).run(port: number("--port") ?? 0, until: shutdown) { port in
        FileHandle.standardOutput.write(Data("listening on \(port)\n".utf8))
    }
} catch {
    FileHandle.standardError.write(Data("order-server: \(error)\n".utf8))
    exit(1)
}
