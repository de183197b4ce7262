import FirnRealmFile
import FirnStorage
import RealmDump

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

// firn-realm-dump FILE [KEY as 128 hexadecimal digits]: prints a Realm file as JSON, in the form of the samples.
func printBytes(_ text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { bytes in
        var rest = UnsafeRawBufferPointer(bytes)
        while !rest.isEmpty {
            let count = write(descriptor, rest.baseAddress, rest.count)
            guard count > 0 else { exit(3) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }
}

var options = RealmFile.Options()
let arguments = CommandLine.arguments
if arguments.count > 2 {
    let digits = Array(arguments[2])
    options.key = stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
}
do {
    let file = try RealmFile(PosixStorage(), path: arguments[1], options)
    var text = ""
    try RealmDump(file) {
        text += $0
        if text.utf8.count > 1 << 20 {
            printBytes(text, to: 1)
            text = ""
        }
    }.run()
    printBytes(text, to: 1)
} catch {
    printBytes("\(error)\n", to: 2)
    exit(2)
}
