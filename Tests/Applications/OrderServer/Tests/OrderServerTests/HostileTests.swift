import Foundation
import Testing

@testable import OrderServer

/// Requests that nobody should send get an error, and change nothing.
@Suite(.timeLimit(.minutes(30))) struct HostileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let draft = OrderDraft(
        buyer: "Ann", lines: [.init(sku: "tea", quantity: 1)], address: .init(street: "Elm 1", city: "Oslo"))

    /// Bodies that are no order, with the status and a part of the text of the error.
    private static var bodies: [(body: String, status: Int, text: String)] {
        let address = #""address":{"street":"Elm 1","city":"Oslo"}"#
        func order(_ buyer: String = #""Ann""#, _ lines: String = #"{"sku":"tea","quantity":1}"#) -> String {
            "{\"buyer\":\(buyer),\"lines\":[\(lines)],\(address)}"
        }
        func quantity(_ text: String) -> String { order(#""Ann""#, "{\"sku\":\"tea\",\"quantity\":\(text)}") }
        let long = String(repeating: "é", count: 500_000)
        return [
            ("", 400, "JSON"), ("{", 400, "JSON"), ("null", 400, "null"), ("[]", 400, "array"),
            ("\u{FEFF}\u{0}", 400, "JSON"),
            (String(repeating: "[", count: 60_000), 400, "JSON"), (String(order().dropLast(20)), 400, "JSON"),
            (order("7"), 400, "buyer"), (order("null"), 400, "buyer"), (order(#""""#), 400, "buyer"),
            (order(#""a\u0000b""#), 400, "buyer"), (order(#""\ud800""#), 400, "JSON"),
            (order("\"\(long.prefix(5000))\""), 400, "buyer"), (order("\"\(long)\""), 413, "65536 bytes"),
            (order(#""Ann","admin":true,"x":"y""#), 400, "is not a known field"), (quantity("NaN"), 400, "JSON"),
            (quantity("-1"), 400, "lines.0.quantity"), (quantity("0"), 400, "lines.0.quantity"),
            (quantity("1.5"), 400, "JSON"), (quantity("1e99"), 400, "JSON"),
            (quantity("9223372036854775808"), 400, "JSON"),
            (quantity("\"🫖\""), 400, "lines.0.quantity"), (quantity("true"), 400, "lines.0.quantity"),
            (order(#""Ann""#, ""), 400, "lines"), (order(#""Ann""#, #"{"sku":"none","quantity":1}"#), 404, "none"),
            (order(#""Ann""#, #"{"sku":"tea","quantity":1},{"sku":"tea","quantity":1}"#), 400, "twice"),
            (quantity("1000000"), 409, "only 9 are left"),
        ]
    }

    /// Bytes that are no request that can be answered with success. Some are cut off, so that nothing is answered.
    private static let bytes: [String] = [
        "\r\n\r\n\r\n", "🫖\r\n\r\n", "PUT\r\n\r\n", "PUT /orders/h HTTP/9.9\r\n\r\n",
        "PUT /orders/h HTTP/1.1\r\nContent-Length: -5\r\n\r\n", "PUT /orders/h HTTP/1.1\r\nContent-Length: 1e9\r\n\r\n",
        "PUT /orders/h HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "PUT /orders/h HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        "PUT /orders/h HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        "PUT /orders/\(String(repeating: "h", count: 200_000)) HTTP/1.1\r\n\r\n",
        "PUT /orders/h HTTP/1.1\r\nX: \(String(repeating: "y", count: 200_000))\r\n\r\n",
        "PUT /orders/h HTTP/1.1\r\nContent-Length: 500\r\n\r\n{\"buyer\":\"Ann\"", "PUT /orders/h HTT",
    ]

    @Test func badRequestsGetAnErrorAndChangeNothing() async throws {
        let server = try await ServerProcess(folder.store)
        let port = server.port
        let tea = ProductDraft(name: "Tea 🍵", price: 1, weight: 1, received: 10, attributes: ["😀": "é"])
        #expect(try await Client.send(port, "PUT", "/products/tea", tea).status == 201)
        #expect(try await Client.send(port, "PUT", "/orders/first", Self.draft).status == 201)
        let before = try await Client.send(port, "GET", "/store").body
        try await Client.connect(port) { client in
            for (body, status, text) in Self.bodies {
                let reply = try await client.send("PUT", "/orders/h", Data(body.utf8))
                let error = try reply.decoded([String: String].self)["error"] ?? ""
                #expect(reply.status == status && error.contains(text), "\(body.prefix(100)): \(reply.status) \(error)")
            }
            let invalid = try await client.send("PUT", "/orders/h", Data([0x7B, 0x22, 0xC0, 0xAF, 0x22, 0x7D]))
            #expect(invalid.status == 400)
        }
        for (method, path, status) in [
            ("GET", "/", 404), ("GET", "/orders/h", 404), ("DELETE", "/orders/h", 404), ("DELETE", "/products/h", 404),
            ("DELETE", "/products/tea", 409), ("POST", "/orders/h", 405), ("PUT", "/orders/a/b", 404),
        ] {
            #expect(try await Client.send(port, method, path, Self.draft).status == status, "\(method) \(path)")
        }
        for name in [String(repeating: "n", count: 201), "a%00b", "a%1Bb"] {
            #expect(try await Client.send(port, "PUT", "/orders/\(name)", Self.draft).status == 400, "\(name)")
        }
        for text in Self.bytes { try await expectNoSuccess(port, text) }
        #expect(try await Client.send(port, "GET", "/store").body == before)
        server.send(SIGTERM)
        #expect(try await server.end() == .exited(0))
    }

    /// Sends bytes and goes away. What is answered before the server closes the connection must be an error.
    private func expectNoSuccess(_ port: Int, _ text: String) async throws {
        let isCutOff = text.hasSuffix("Ann\"") || text.hasSuffix("HTT") || text == "\r\n\r\n\r\n"
        try await Client.connect(port) { client in
            try await client.send(Array(text.utf8))
            if isCutOff { return }
            do {
                let reply = try await client.reply()
                #expect(reply.status >= 400, "\(text.prefix(80)): \(reply.status)")
            } catch is Client.Lost {}
        }
    }

    @Test func namesMayHaveAnyLetters() async throws {
        let server = try await ServerProcess(folder.store)
        let tea = ProductDraft(name: "抹茶 🍵", price: 1, weight: 0.1, received: 10, attributes: ["🎁": "ø"])
        let path = "/products/" + "茶/🍵 %".addingPercentEncoding(withAllowedCharacters: .alphanumerics)!
        #expect(try await Client.send(server.port, "PUT", path, tea).status == 201)
        let found: ProductDocument = try await Client.send(server.port, "GET", path).decoded()
        #expect(found.sku == "茶/🍵 %" && found.name == tea.name && found.attributes == tea.attributes)
        #expect(found.weight == 0.1)
    }
}
