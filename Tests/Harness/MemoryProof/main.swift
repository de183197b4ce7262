import FirnCore
import FirnLog
import FirnStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

// firn-memory-proof FOLDER OBJECTS MEMORY [encrypted]: the whole life of a store with objects of about 650 bytes, of
// which MEMORY bytes fit in memory at once.
//
// Every value is a function of an object's number and of how often it was changed, so each scan compares everything.
// `Tools/prove-memory` runs it in a memory cgroup. Each step prints its time, the most memory that it had at once
// (all resident pages, including those of mapped files, and those that no file backs), the heap of nodes at its end,
// and the size of the files.

func fail(_ text: String) -> Never {
    let line = Array("firn-memory-proof: \(text)\n".utf8)
    _ = write(2, line, line.count)
    exit(1)
}

let words = CommandLine.arguments
guard (4...5).contains(words.count), words.dropFirst(4).allSatisfy({ $0 == "encrypted" }),
    let objectCount = Int(words[2]), objectCount > 1000, let memory = Int(words[3])
else {
    fail("usage: firn-memory-proof FOLDER OBJECTS MEMORY [encrypted]")
}
let folder = words[1]

do {
    var life = StoreLife(folder: folder, objectCount: objectCount, memory: memory, isEncrypted: words.count == 5)
    try life.run()
} catch {
    fail("\(error)")
}
