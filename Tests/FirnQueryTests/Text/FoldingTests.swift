import Testing

@testable import FirnQuery

/// `[c]` compares by Unicode's simple case folding.
@Suite(.timeLimit(.minutes(20))) struct FoldingTests {
    /// Letters that share an upper-case form are folded alike, whichever of their forms is given.
    @Test func lettersOfOneUpperCaseAreFoldedAlike() {
        var exceptions: [Unicode.Scalar] = []
        var unstable: [Unicode.Scalar] = []
        for scalar in (0...0x10FFFF as ClosedRange<UInt32>).lazy.compactMap({ Unicode.Scalar($0) }) {
            let folded = Folding.caseFolded(scalar)
            if Folding.caseFolded(folded) != folded { unstable.append(scalar) }
            let upper = scalar.properties.uppercaseMapping.unicodeScalars
            let lower = scalar.properties.lowercaseMapping.unicodeScalars
            for forms in [upper, lower] where forms.count == 1 {
                if let form = forms.first, Folding.caseFolded(form) != folded { exceptions.append(scalar) }
            }
        }
        // The Turkish letter without a dot is folded in Turkish only.
        #expect(exceptions == ["ı"] && unstable == [])
    }

    @Test(arguments: [
        ("ΟΔΟΣ", "οδος"), ("µ", "μ"), ("ſtraße", "STRAßE"), ("ϐϑϕϖϰϱϵ", "βθφπκρε"), ("ᲀᲁᲂᲃᲄᲅᲆᲇᲈ", "вдосттъѣꙋ"),
        ("ẛ", "ṡ"),
        ("ι\u{345}", "ιι"), ("\u{1FBE}", "ι"), ("K", "k"), ("Å", "å"), ("Ω", "ω"), ("ẞ", "ß"), ("\u{FB05}", "\u{FB06}"),
    ])
    func variantsOfALetterAreFoldedToIt(_ text: String, _ other: String) {
        #expect(Folding.folded(text, .caseInsensitive) == Folding.folded(other, .caseInsensitive))
        #expect(Folding.folded(text, []) != Folding.folded(other, []))
    }

    @Test func aFoldedLetterIsOneCodePoint() {
        #expect(Folding.folded("ß", .caseInsensitive) == Array("ß".utf8))
        #expect(Folding.folded("İ", .caseInsensitive) == Array("İ".utf8))
    }
}
