/// The names that scratch files briefly have on file systems that can't make a file without a name.
///
/// A name is `scratch.` and two random numbers in hexadecimal digits, with a point between them.
package enum ScratchName {
    package static func next(_ random: any Randomness) -> String {
        "scratch.\(String(random.next(), radix: 16)).\(String(random.next(), radix: 16))"
    }

    /// Whether a name has this form. Other names with the same beginning, such as `scratch.txt`, are not Firn's.
    package static func matches(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 && parts[0] == "scratch" && parts.dropFirst().allSatisfy(isNumber)
    }

    private static func isNumber(_ text: Substring) -> Bool {
        (1...16).contains(text.utf8.count)
            && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}
