import Foundation
import NIOCore
import NIOPosix

@testable import OrderServer

/// A connection to a server. It knows just enough of HTTP for the tests, and can also send what is not HTTP.
final class Client {
    /// The server has closed the connection, or is not there.
    struct Lost: Error {}
    /// A response with a JSON body.
    struct Reply: Sendable {
        let status: Int
        let body: Data

        /// Throws `DecodingError`.
        func decoded<T: Decodable>(_ type: T.Type = T.self) throws -> T { try JSONDecoder().decode(type, from: body) }
    }

    private var incoming: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let outgoing: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private var received = ByteBuffer()

    private init(
        _ incoming: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
        _ outgoing: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) {
        (self.incoming, self.outgoing) = (incoming, outgoing)
    }

    /// Connects, and closes the connection after `body`. Throws `Lost` and what `body` throws.
    ///
    /// - Parameter receiveBuffer: the bytes that the system keeps until they are read; nil for its usual many.
    static func connect<Result: Sendable>(
        _ port: Int, receiveBuffer: Int? = nil, _ body: (Client) async throws -> Result
    ) async throws -> Result {
        do {
            var bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            if let receiveBuffer {
                bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: receiveBuffer)
            }
            let channel =
                try await bootstrap
                .connect(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            return try await channel.executeThenClose { incoming, outgoing in
                try await body(Client(incoming.makeAsyncIterator(), outgoing))
            }
        } catch is IOError { throw Lost() } catch is ChannelError { throw Lost() } catch is NIOConnectionError {
            throw Lost()
        }
    }

    /// One request on a connection of its own.
    static func send(
        _ port: Int, _ method: String, _ path: String, _ body: (any Encodable)? = nil
    ) async throws -> Reply {
        let data = try body.map { try JSONEncoder().encode($0) } ?? Data()
        return try await connect(port) { try await $0.send(method, path, data) }
    }

    /// Sends a request and waits for its response. Throws `Lost`.
    func send(_ method: String, _ path: String, _ body: Data) async throws -> Reply {
        var bytes = Array("\(method) \(path) HTTP/1.1\r\nHost: test\r\nContent-Length: \(body.count)\r\n\r\n".utf8)
        bytes += body
        try await send(bytes)
        return try await reply()
    }

    func send(_ bytes: [UInt8]) async throws { try await outgoing.write(ByteBuffer(bytes: bytes)) }

    /// The next response. Throws `Lost`.
    func reply() async throws -> Reply {
        let (status, length) = try await head()
        return Reply(status: status, body: Data(try await bytes(length)))
    }

    /// Asks for the stream of events. Throws `Lost`, and `Failure` if it is refused.
    func subscribe() async throws {
        try await send(Array("GET /events HTTP/1.1\r\nHost: test\r\n\r\n".utf8))
        let (status, _) = try await head()
        guard status == 200 else { throw Failure("the stream was refused with \(status)") }
    }

    /// The next event; nil if the server has ended the stream. Throws `Lost` if it breaks off.
    func event() async throws -> EventDocument? {
        // The server sends each event as a chunk.
        guard let count = Int(try await line(), radix: 16) else { throw Failure("this is no chunk") }
        let text = String(decoding: try await bytes(count), as: UTF8.self)
        _ = try await line()
        if count == 0 { return nil }
        guard text.hasPrefix("data: "), text.hasSuffix("\n\n") else { throw Failure("this is no event: \(text)") }
        return try JSONDecoder().decode(EventDocument.self, from: Data(text.dropFirst(6).utf8))
    }

    // MARK: Bytes

    private func head() async throws -> (status: Int, length: Int) {
        let words = try await line().split(separator: " ")
        guard words.count > 1, let status = Int(words[1]) else { throw Failure("this is no status: \(words)") }
        var length = 0
        while true {
            let field = try await line().lowercased()
            if field.isEmpty { return (status, length) }
            if field.hasPrefix("content-length:") {
                length = Int(field.dropFirst(15).trimmingCharacters(in: .whitespaces)) ?? 0
            }
        }
    }

    private func line() async throws -> String {
        while true {
            if let end = received.readableBytesView.firstIndex(of: 10) {
                let count = end - received.readerIndex
                let text = received.readString(length: count) ?? ""
                received.moveReaderIndex(forwardBy: 1)
                return text.hasSuffix("\r") ? String(text.dropLast()) : text
            }
            try await receive()
        }
    }

    private func bytes(_ count: Int) async throws -> [UInt8] {
        while received.readableBytes < count { try await receive() }
        return received.readBytes(length: count) ?? []
    }

    private func receive() async throws {
        guard let more = try await incoming.next() else { throw Lost() }
        received.discardReadBytes()
        received.writeImmutableBuffer(more)
    }
}
