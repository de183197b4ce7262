import Foundation
import NIOHTTP1

/// A request that was received as a whole.
package struct Request: Sendable {
    package let method: HTTPMethod
    /// The path's parts, without percent encoding.
    package let path: [String]
    package let query: [String: String]
    package let body: Data
    var isKeepAlive = true

    package init(_ method: HTTPMethod, _ uri: String, _ body: Data = Data()) {
        let parts = URLComponents(string: uri)
        self.method = method
        path = (parts?.percentEncodedPath ?? uri).split(separator: "/", omittingEmptySubsequences: true)
            .map { $0.removingPercentEncoding ?? String($0) }
        query = Dictionary(
            (parts?.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { first, _ in first })
        self.body = body
    }
}

/// What is answered: a JSON body, or a stream of events.
package struct Response: Sendable {
    /// Sends one event, and returns when there is room for the next one.
    package typealias SendEvent = @Sendable (_ json: Data) async throws -> Void
    /// What is sent after the head.
    package enum Content: Sendable {
        case json(Data)
        /// Sends events until its task is cancelled.
        case events(@Sendable (SendEvent) async throws -> Void)
    }

    package let status: HTTPResponseStatus
    package let content: Content

    init(status: HTTPResponseStatus = .ok, _ content: Content) { (self.status, self.content) = (status, content) }

    init(_ status: HTTPResponseStatus, _ document: some Encodable) throws {
        self.init(status: status, .json(try Response.encode(document)))
    }

    /// An error as a JSON object with a text.
    init(_ status: HTTPResponseStatus, error: String) {
        self.init(status: status, .json((try? Response.encode(["error": error])) ?? Data()))
    }

    /// Throws what the document's `encode(to:)` throws.
    static func encode(_ document: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(document)
    }
}
