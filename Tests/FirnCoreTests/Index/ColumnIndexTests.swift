import Testing

import FirnTestSupport

@testable import FirnCore

private func values(_ type: ColumnType, isNullable: Bool, _ random: inout SeededRandom) -> Value {
    if isNullable, random.below(5) == 0 { return .null }
    let small = Int64(random.below(60)) - 30
    switch type {
    case .bool: return .bool(small < 0)
    case .int: return .int(small)
    case .float: return .float(Float(small) / 4)
    case .double: return .double(Double(small) / 4)
    case .string: return .string("name \(small)")
    case .data: return .data([UInt8(truncatingIfNeeded: small), 0, 1])
    case .date: return .date(Timestamp(seconds: small, nanoseconds: 0))
    case .objectID: return .objectID(ObjectIDBytes(a: UInt32(small + 30), b: 2, c: 3))
    case .uuid: return .uuid(UUIDBytes(high: UInt64(small + 30), low: 9))
    case .decimal: return .decimal(DecimalBits(high: UInt64(6176) << 49, low: UInt64(small + 30)))
    case .link: return .link(small + 30)
    case .mixed: return small < 0 ? .int(small) : .string("\(small)")
    }
}

@Suite("The index of a column", .timeLimit(.minutes(20)))
struct ColumnIndexTests {
    @Test("finds the objects of a value, of any type", arguments: ColumnType.allCases, [false, true])
    func finds(_ type: ColumnType, isNullable: Bool) throws {
        let index = ColumnIndex(ColumnSchema(name: "p", type: type, isNullable: isNullable, isIndexed: true))
        var random = SeededRandom(seed: UInt64(type.rawValue))
        let versions = VersionSimulation()
        let writer = versions.begin()
        var builder = ColumnIndexBuilder(index)
        var oracle: [Value: Set<Int64>] = [:]
        for object in 0..<Int64(2_000) {
            let value = values(type, isNullable: isNullable, &random)
            index.insert(value, object: object, at: versions.slot, writer: writer)
            builder.append(value, object)
            if !(type == .link && value == .null) { oracle[value, default: []].insert(object) }
        }
        var built = builder.finish(writer).word
        try index.checkInvariants(versions.root)
        try index.checkInvariants(NodeRef(built))
        for root in [versions.root, NodeRef(built)] {
            for (value, objects) in oracle {
                var found: [Int64] = []
                index.forEachObject(of: value, in: root) {
                    found.append($0)
                    return true
                }
                #expect(found == objects.sorted())
                #expect(index.firstObject(of: value, in: root) == objects.min())
                let range = index.lowerBound(value, in: root)..<index.upperBound(value, in: root)
                #expect(range.count == objects.count)
                var back: [Int64] = []
                index.forEachObject(at: range, in: root, descending: true) {
                    back.append($0)
                    return true
                }
                #expect(back == found.reversed())
                #expect(index.object(at: range.lowerBound, in: root) == found[0])
            }
            #expect(index.count(in: root) == oracle.values.reduce(0) { $0 + $1.count })
        }
        for (value, objects) in oracle {
            for object in objects {
                #expect(index.remove(value, object: object, at: versions.slot, writer: writer))
                #expect(!index.remove(value, object: object, at: versions.slot, writer: writer))
            }
        }
        #expect(versions.root.isNone)
        index.retireAll(NodeRef(built), writer)
        built = 0
        #expect(writer.state.pointee.nodeDelta == 0 && writer.state.pointee.byteDelta == 0)
        versions.rollback()
    }

    @Test("gives the same by int as by value", arguments: [false, true])
    func ints(_ isNullable: Bool) {
        let index = ColumnIndex(ColumnSchema(name: "id", type: .int, isNullable: isNullable, isIndexed: true))
        #expect(index.usesIntegerTree == !isNullable)
        let versions = VersionSimulation()
        let writer = versions.begin()
        for int in -500..<500 { index.insert(int: Int64(int), Int64(int) + 1000, at: versions.slot, writer) }
        if isNullable { index.insert(int: nil, 7, at: versions.slot, writer) }
        for int in -500..<500 {
            #expect(index.firstObject(int: Int64(int), in: versions.root) == Int64(int) + 1000)
            #expect(index.firstObject(of: .int(Int64(int)), in: versions.root) == Int64(int) + 1000)
        }
        #expect(!index.contains(int: 500, in: versions.root))
        if isNullable { #expect(index.firstObject(int: nil, in: versions.root) == 7) }
        #expect(index.remove(int: 3, 1003, at: versions.slot, writer))
        #expect(!index.contains(int: 3, in: versions.root))
        #expect(index.object(at: isNullable ? 1 : 0, in: versions.root) == 500)
        versions.rollback()
    }

    @Test("finds strings by their UTF-8, null, and all strings with a prefix")
    func strings() {
        let index = ColumnIndex(ColumnSchema(name: "s", type: .string, isNullable: true, isIndexed: true))
        let versions = VersionSimulation()
        let writer = versions.begin()
        let words = ["", "a", "ab", "abc", "abd", "ac", "b", "\u{7F}", "é", "🙂", "🙃"]
        func withBytes<R>(_ word: String, _ body: (UnsafeRawBufferPointer) -> R) -> R {
            var word = word
            return word.withUTF8 { body(UnsafeRawBufferPointer($0)) }
        }
        for (object, word) in words.enumerated() {
            withBytes(word) { index.insert(bytes: $0, Int64(object), at: versions.slot, writer) }
        }
        index.insert(bytes: nil, 99, at: versions.slot, writer)
        for (object, word) in words.enumerated() {
            #expect(withBytes(word) { index.firstObject(bytes: $0, in: versions.root) } == Int64(object))
            #expect(index.firstObject(of: .string(word), in: versions.root) == Int64(object))
        }
        #expect(index.firstObject(bytes: nil, in: versions.root) == 99)
        func beginning(_ prefix: String) -> [Int64] {
            let range = withBytes(prefix) { index.positions(beginningWith: $0, in: versions.root) }
            var found: [Int64] = []
            index.forEachObject(at: range, in: versions.root) {
                found.append($0)
                return true
            }
            return found
        }
        #expect(beginning("ab") == [2, 3, 4])
        #expect(beginning("") == Array(0..<11))
        #expect(beginning("🙂") == [9])
        #expect(beginning("abx") == [])
        versions.rollback()
    }

    @Test("finds data that begins with the highest bytes")
    func highBytes() {
        let index = ColumnIndex(ColumnSchema(name: "d", type: .data, isIndexed: true))
        let versions = VersionSimulation()
        let writer = versions.begin()
        let all: [[UInt8]] = [[1], [1, 255], [1, 255, 255, 3], [2], [255], [255, 255], [255, 255, 9]]
        for (object, bytes) in all.enumerated() {
            index.insert(.data(bytes), object: Int64(object), at: versions.slot, writer: writer)
        }
        func positions(_ bytes: [UInt8]) -> Range<Int> {
            bytes.withUnsafeBytes { index.positions(beginningWith: $0, in: versions.root) }
        }
        #expect(positions([1, 255]) == 1..<3)
        #expect(positions([255]) == 4..<7)
        #expect(positions([255, 255]) == 5..<7)
        #expect(positions([255, 255, 255]) == 7..<7)
        versions.rollback()
    }

    @Test("returns long strings as candidates")
    func longStrings() {
        let index = ColumnIndex(ColumnSchema(name: "s", type: .string, isIndexed: true))
        let versions = VersionSimulation()
        let writer = versions.begin()
        let beginning = String(repeating: "x", count: 1000)
        for number in 0..<300 {
            index.insert(.string(beginning + "\(number)"), object: Int64(number), at: versions.slot, writer: writer)
        }
        for number in 0..<300 {
            let value = Value.string(beginning + "\(number)")
            #expect(!index.isExact(value))
            var found: [Int64] = []
            index.forEachObject(of: value, in: versions.root) {
                found.append($0)
                return true
            }
            #expect(found == [Int64(number)])
        }
        #expect(index.firstObject(of: .string(beginning), in: versions.root) == nil)
        versions.rollback()
    }

    @Test("stops on a value of another type")
    func wrongType() async {
        await #expect(processExitsWith: .failure) {
            let index = ColumnIndex(ColumnSchema(name: "n", type: .int, isIndexed: true))
            _ = index.firstObject(of: .string("1"), in: .none)
        }
        await #expect(processExitsWith: .failure) {
            let index = ColumnIndex(ColumnSchema(name: "s", type: .string, isIndexed: true))
            _ = index.firstObject(of: .int(1), in: .none)
        }
    }
}
