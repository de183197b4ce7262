import NIOHTTP1

/// Finds what answers a request: by method, and by a path in which `*` stands for any one part.
struct Router: Sendable {
    /// Answers a request. The names are the parts of the path at which the route has `*`.
    typealias Handler = @Sendable (_ request: Request, _ names: [String]) async throws -> Response
    private struct Route {
        let method: HTTPMethod
        let path: [Substring]
        let handler: Handler

        /// The parts of a path at which the route has `*`; nil if it is another path.
        func names(in other: [String]) -> [String]? {
            guard path.count == other.count, zip(path, other).allSatisfy({ $0 == "*" || $0 == $1 }) else { return nil }
            return zip(path, other).filter { $0.0 == "*" }.map(\.1)
        }
    }
    private var routes: [Route] = []

    mutating func on(_ method: HTTPMethod, _ path: String, _ handler: @escaping Handler) {
        routes.append(Route(method: method, path: path.split(separator: "/"), handler: handler))
    }

    /// - Throws: what the handler throws.
    func respond(to request: Request) async throws -> Response {
        var isKnown = false
        for route in routes {
            guard let names = route.names(in: request.path) else { continue }
            if route.method == request.method { return try await route.handler(request, names) }
            isKnown = true
        }
        return isKnown
            ? Response(.methodNotAllowed, error: "\(request.method) is not possible here")
            : Response(.notFound, error: "there is nothing at /\(request.path.joined(separator: "/"))")
    }
}
