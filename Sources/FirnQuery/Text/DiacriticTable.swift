/// The base letters of precomposed code points, for removing diacritics without Foundation.
///
/// It covers the code points whose canonical decomposition is one letter and combining marks, in these blocks of
/// Unicode:
/// - Latin-1 Supplement;
/// - Latin Extended-A and -B;
/// - Greek and Coptic;
/// - Cyrillic;
/// - Latin Extended Additional;
/// - Greek Extended.
///
/// It also covers the combining marks themselves, which are removed. Letters that are not composed (ø, ł, đ, ß, æ) stay
/// as they are, as in Unicode's decomposition.
enum DiacriticTable {
    /// The letter without its diacritics, or the scalar itself if it has none.
    static func base(of scalar: UInt32) -> UInt32 {
        guard scalar >= 0xC0, scalar <= 0x1FFF else { return scalar }
        for block in blocks where scalar >= block.first && scalar < block.first + UInt32(block.letters.count) {
            let letter = block.letters[Int(scalar - block.first)]
            return letter == 0x2E ? scalar : UInt32(letter)
        }
        return scalar
    }

    /// Whether the scalar is a combining mark, which is removed completely.
    static func isMark(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x0300...0x036F, 0x0483...0x0487, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20F0, 0xFE20...0xFE2F: true
        default: false
        }
    }

    private struct Block {
        let first: UInt32
        let letters: [UInt16]

        init(_ first: UInt32, _ letters: String) {
            self.first = first
            self.letters = letters.unicodeScalars.map { UInt16($0.value) }
        }
    }

    /// A dot stands for a code point without diacritics.
    private static let blocks: [Block] = [
        Block(
            0x00C0,
            "AAAAAA.CEEEEIIII.NOOOOO..UUUUY..aaaaaa.ceeeeiiii.nooooo..uuuuy.yAaAaAaCcCcCcCcDd..EeEeEeEeEeGgGg"
                + "GgGgHh..IiIiIiIiI...JjKk.LlLlLl....NnNnNn...OoOoOo..RrRrRrSsSsSsSsTtTt..UuUuUuUuUuUuWwYyYZzZzZz."
                + "................................Oo.............Uu............................AaIiOoUuUuUuUuUu.Aa"
                + "AaÆæ..GgKkOoOoƷʒj...Gg..NnAaÆæØøAaAaEeEeIiIiOoOoRrRrUuUuSsTt..Hh......AaEeOoOoOoOoYy............"
                + "................"),
        Block(
            0x0370,
            ".....................¨Α.ΕΗΙ.Ο.ΥΩι.........................ΙΥαεηιυ.........................ιυουω."
                + "...ϒϒ..........................................."),
        Block(
            0x0400,
            "ЕЕ.Г...І....КИУ..........И...............................и......................ее.г...і....киу."
                + "......................Ѵѵ........................................................................"
                + ".Жж.............АаАа..Ее..ӘәЖжЗз..ИиИиОо..ӨөЭэУуУуУуЧч..Ыы......"),
        Block(
            0x1E00,
            "AaBbBbBbCcDdDdDdDdDdEeEeEeEeEeFfGgHhHhHhHhHhIiIiKkKkKkLlLlLlLlMmMmMmNnNnNnNnOoOoOoOoPpPpRrRrRrRr"
                + "SsSsSsSsSsTtTtTtTtUuUuUuUuUuVvVvWwWwWwWwWwXxXxYyZzZzZzhtwy.ſ....AaAaAaAaAaAaAaAaAaAaAaAaEeEeEeEe"
                + "EeEeEeEeIiIiOoOoOoOoOoOoOoOoOoOoOoOoUuUuUuUuUuUuUuYyYyYyYy......"),
        Block(
            0x1F00,
            "ααααααααΑΑΑΑΑΑΑΑεεεεεε..ΕΕΕΕΕΕ..ηηηηηηηηΗΗΗΗΗΗΗΗιιιιιιιιΙΙΙΙΙΙΙΙοοοοοο..ΟΟΟΟΟΟ..υυυυυυυυ.Υ.Υ.Υ.Υ"
                + "ωωωωωωωωΩΩΩΩΩΩΩΩααεεηηιιοουυωω..ααααααααΑΑΑΑΑΑΑΑηηηηηηηηΗΗΗΗΗΗΗΗωωωωωωωωΩΩΩΩΩΩΩΩααααα.ααΑΑΑΑΑ..."
                + ".¨ηηη.ηηΕΕΗΗΗ᾿᾿᾿ιιιι..ιιΙΙΙΙ.῾῾῾υυυυρρυυΥΥΥΥΡ¨¨...ωωω.ωωΟΟΩΩΩ..."),
    ]
}
