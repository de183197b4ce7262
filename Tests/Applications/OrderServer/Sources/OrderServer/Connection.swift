import Foundation
import NIOCore
import NIOHTTP1

/// The connection of one client: reads a request, answers it, and reads the next one.
struct Connection: Sendable {
    typealias Channel = NIOAsyncChannel<HTTPServerRequestPart, HTTPPart<HTTPResponseHead, ByteBuffer>>
    private typealias Parts = NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator
    private typealias Writer = NIOAsyncChannelOutboundWriter<HTTPPart<HTTPResponseHead, ByteBuffer>>

    /// What a client has sent.
    private enum Received {
        case request(Request)
        /// Its body has more bytes than a request may have. The connection can be used further if all were read.
        case tooLarge(isKeepAlive: Bool)
    }
    /// The most bytes of a body, and the most that are read in order to answer a client that sends more.
    private static let (bodyLimit, readLimit) = (64 << 10, 16 << 20)

    let channel: Channel
    let service: Service
    let drain: Drain

    /// Serves the client until it leaves, asks to be left, or the server shuts down.
    func run() async {
        // An error means that the client is gone, or has sent what is no HTTP. NIO has answered that with 400.
        try? await channel.executeThenClose { inbound, outbound in
            var parts = inbound.makeAsyncIterator()
            var goesOn = true
            while goesOn {
                let ticket = drain.wait { [channel] in channel.channel.close(promise: nil) }
                let received = try await Self.receive(&parts)
                guard drain.proceed(ticket), let received else { return }
                goesOn = try await answer(received, outbound)
            }
        }
    }

    // MARK: Requests

    /// The next request as a whole; nil if the client is gone. Throws NIO's errors.
    private static func receive(_ parts: inout Parts) async throws -> Received? {
        guard case .head(let head)? = try await parts.next() else { return nil }
        var body = Data()
        var count = 0
        while let part = try await parts.next() {
            switch part {
            case .body(let bytes):
                count += bytes.readableBytes
                if count <= bodyLimit { body.append(contentsOf: bytes.readableBytesView) }
                if count > readLimit { return .tooLarge(isKeepAlive: false) }
            case .end:
                if count > bodyLimit { return .tooLarge(isKeepAlive: head.isKeepAlive) }
                var request = Request(head.method, head.uri, body)
                request.isKeepAlive = head.isKeepAlive
                return .request(request)
            case .head: return nil
            }
        }
        return nil
    }

    // MARK: Responses

    /// Answers. Returns whether the client may send another request. Throws NIO's errors.
    private func answer(_ received: Received, _ writer: Writer) async throws -> Bool {
        switch received {
        case .tooLarge(let isKeepAlive):
            let response = Response(.payloadTooLarge, error: "the body has more than \(Self.bodyLimit) bytes")
            return try await send(response, isKeepAlive, writer)
        case .request(let request):
            return try await send(await service.respond(to: request), request.isKeepAlive, writer)
        }
    }

    private func send(_ response: Response, _ isKeepAlive: Bool, _ writer: Writer) async throws -> Bool {
        var head = HTTPResponseHead(version: .http1_1, status: response.status)
        switch response.content {
        case .json(let json):
            let goesOn = isKeepAlive && !drain.isDraining
            head.headers = ["Content-Type": "application/json", "Content-Length": "\(json.count)"]
            if !goesOn { head.headers.add(name: "Connection", value: "close") }
            try await writer.write(contentsOf: [.head(head), .body(ByteBuffer(bytes: json)), .end(nil)])
            return goesOn
        case .events(let source):
            head.headers = ["Content-Type": "text/event-stream", "Cache-Control": "no-store", "Connection": "close"]
            try await writer.write(.head(head))
            try await stream(source, writer)
            // A client that does not read can't be told that this is the end.
            if channel.channel.isWritable { try await writer.write(.end(nil)) }
            return false
        }
    }

    /// Sends events until the source ends, the client leaves, or the server shuts down. Throws NIO's errors, and those
    /// of the source.
    private func stream(_ source: @escaping @Sendable (Response.SendEvent) async throws -> Void, _ writer: Writer)
        async throws
    {
        let (end, isOver) = AsyncStream.makeStream(of: Never.self)
        channel.channel.closeFuture.whenComplete { _ in isOver.finish() }
        let ticket = drain.wait { isOver.finish() }
        defer { drain.proceed(ticket) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { isOver.finish() }
                // This waits while the client reads too slowly.
                try await source { json in
                    var event = ByteBuffer(string: "data: ")
                    event.writeBytes(json)
                    event.writeString("\n\n")
                    try await writer.write(.body(event))
                }
            }
            for await _ in end {}
            group.cancelAll()
            do { try await group.waitForAll() } catch is CancellationError {}
        }
    }
}
