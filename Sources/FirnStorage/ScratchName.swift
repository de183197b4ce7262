/// The names that scratch files bear while they are made, where the file system needs one: `scratch.` and two random numbers in hexadecimal digits, with a point between them.
package enum ScratchName {
    package static func next(_ random: any Randomness) -> String {
        "scratch.\(String(random.next(), radix: 16)).\(String(random.next(), radix: 16))"
    }

    /// Whether a name is one of these. Others that begin alike, such as `scratch.txt`, are somebody else's.
    package static func matches(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 && parts[0] == "scratch" && parts.dropFirst().allSatisfy(isNumber)
    }

    private static func isNumber(_ text: Substring) -> Bool {
        (1...16).contains(text.utf8.count)
            && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}
