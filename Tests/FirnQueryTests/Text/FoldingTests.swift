import Foundation
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

    /// `[d]` takes each code point for the one that is left of its canonical decomposition without marks, if that is
    /// one.
    @Test func diacriticsAreRemovedAsUnicodeDecomposes() {
        var wrong: [String] = []
        var composed = 0
        for scalar in (0...0x10FFFF as ClosedRange<UInt32>).lazy.compactMap({ Unicode.Scalar($0) }) {
            let base = DiacriticTable.base(of: scalar.value)
            if base != scalar.value { composed += 1 }
            let parts = String(Character(scalar)).decomposedStringWithCanonicalMapping.unicodeScalars
            let letters = parts.filter { !DiacriticTable.isMark($0.value) }
            var expected = letters.count == 1 ? letters.first?.value : scalar.value
            if letters.isEmpty { expected = DiacriticTable.isMark(scalar.value) ? base : nil }
            // Foundation does not decompose some letters of Unicode 16, which Swift compares as it should.
            let other = Unicode.Scalar(base).map { "\(Character($0))\u{307}" }
            if base != expected, String(Character(scalar)) != other { wrong.append(String(scalar.value, radix: 16)) }
        }
        #expect(wrong == [] && composed > 1800)
    }

    @Test(arguments: [
        ("\u{212B}", "\u{C5}"), ("\u{212B}", "A\u{30A}"), ("\u{212A}", "K"), ("\u{2126}", "\u{3A9}"),
        ("\u{1F71}", "\u{3AC}"), ("\u{1F71}", "\u{3B1}"), ("e\u{340}", "e\u{341}"), ("\u{374}", "\u{2B9}"),
        ("\u{37E}", ";"), ("\u{387}", "\u{B7}"), ("\u{F900}", "\u{8C48}"), ("\u{2F81A}", "\u{51AC}"),
        ("\u{2260}", "=\u{338}"), ("\u{2ADC}", "\u{2ADD}"),
    ])
    func formsOfOneCharacterAreFoldedAlike(_ text: String, _ other: String) {
        #expect(Folding.folded(text, .diacriticInsensitive) == Folding.folded(other, .diacriticInsensitive))
        #expect(Folding.folded(text, .diacriticInsensitive) != Array(text.utf8))
    }

    @Test func diacriticsAreRemovedBeforeCaseIsFolded() {
        let both: Comparison.Options = [.caseInsensitive, .diacriticInsensitive]
        #expect(Folding.folded("\u{212B}", both) == Folding.folded("å", both))
        // A part of a syllable or of a letter is not the whole.
        #expect(Folding.folded("각", both) == Array("각".utf8) && Folding.folded("が", both) == Array("が".utf8))
    }

    @Test func aFoldedLetterIsOneCodePoint() {
        #expect(Folding.folded("ß", .caseInsensitive) == Array("ß".utf8))
        #expect(Folding.folded("İ", .caseInsensitive) == Array("İ".utf8))
    }
}
