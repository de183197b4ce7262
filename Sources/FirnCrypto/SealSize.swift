/// The bytes that encryption adds to a text: a nonce and a tag.
package enum SealSize {
    package static let nonce = 12
    package static let tag = 16
    /// Both, which stand behind the encrypted bytes.
    package static let total = nonce + tag
}
