import NIOCore
import NIOHTTP1
import NIOPosix

/// Listens on a port of this machine and answers requests of HTTP/1.1, each connection in a task of its own.
package struct Server: Sendable {
    private let service: Service

    package init(_ service: Service) { self.service = service }

    /// Serves until `shutdown` has an element or ends. Then no new connection is accepted, requests that were received
    /// as a whole are answered, streams end, and this returns.
    ///
    /// - Parameter port: 0 for one that is free.
    /// - Parameter onListening: is called with the port when clients can connect.
    /// - Throws: the system's error if the port can't be listened on.
    package func run(
        port: Int, until shutdown: AsyncStream<Void>, onListening: @Sendable (Int) -> Void
    ) async throws {
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    // Requests are read one after the other, so that pipelined ones need no help.
                    try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try pipeline.addHandler(ByteBufferParts())
                    let connection = try Connection.Channel(wrappingChannelSynchronously: channel)
                    // A client that comes while the listener closes is served by nobody. NIO would stop the program if
                    // its connection was released before it is closed.
                    channel.closeFuture.whenComplete { _ in withExtendedLifetime(connection) {} }
                    return connection
                }
            }
        onListening(listener.channel.localAddress?.port ?? port)
        let drain = Drain()
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask {
                for await _ in shutdown { break }
                drain.begin()
                try? await listener.channel.close()
            }
            try await listener.executeThenClose { connections in
                for try await channel in connections {
                    group.addTask { await Connection(channel: channel, service: service, drain: drain).run() }
                }
            }
        }
    }
}

/// Lets parts of a response be written that can be sent between tasks: NIO's own may refer to an open file.
private final class ByteBufferParts: ChannelOutboundHandler {
    typealias OutboundIn = HTTPPart<HTTPResponseHead, ByteBuffer>
    typealias OutboundOut = HTTPServerResponsePart

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let part: HTTPServerResponsePart =
            switch Self.unwrapOutboundIn(data) {
            case .head(let head): .head(head)
            case .body(let bytes): .body(.byteBuffer(bytes))
            case .end(let trailers): .end(trailers)
            }
        context.write(Self.wrapOutboundOut(part), promise: promise)
    }
}
