/// A persistent, counted B+tree of (key, value) whose keys are bytes, ordered by key (`IndexKey`) and then by value. A whole pair may be there more
/// than once.
///
/// It is the index of strings, data and all other columns that `IntegerIndexTree` can't serve: everything wider than 64 bits or nullable. Nodes are pages of 4 KiB
/// (`SlottedPage`); a tree of few entries is one smaller leaf.
///
/// **Separators** are as in `IntegerIndexTree`: every pair before child i is ≤ separator i, every pair from it on is ≥. Between different keys the separator is
/// the shortest beginning of the right key that is above the left one, with the value `Int64.min`; so inner pages hold little of long keys, and
/// the tree is flat. The first separator of a page is not looked at.
///
/// A page is split when an entry doesn't fit, at the right edge of the tree so that the left one stays full. After a removal a page that is less than half full is
/// merged with a neighbour where both fill 7/8 of one page or less. (There is no sharing between neighbours: it could lengthen a separator, for which
/// the parent may have no room.)
///
/// All calls are O(log n) unless they say more. Values lie above `Int64.min` and below `Int64.max`.
enum BytesIndexTree {
    struct Split {
        var ref: UInt64
        var count: Int
        /// The separator's value.
        var value: Int64
        /// Bytes of the separator, in the right page's first key. In an inner page this is all of it.
        var keyByteCount: Int

        static var none: Split { Split(ref: 0, count: 0, value: 0, keyByteCount: 0) }
    }

    /// Neighbouring entries of one leaf. Valid while the tree's version is pinned and not written.
    struct Run {
        fileprivate let page: SlottedPage
        fileprivate let start: Int
        let count: Int

        init(_ page: SlottedPage, _ start: Int, _ count: Int) {
            self.page = page
            self.start = start
            self.count = count
        }

        @inline(__always)
        func key(_ index: Int) -> IndexKey {
            assert(index >= 0 && index < count)
            return page.key(start &+ index)
        }

        @inline(__always)
        func value(_ index: Int) -> Int64 {
            assert(index >= 0 && index < count)
            return page.value(start &+ index)
        }
    }
}
