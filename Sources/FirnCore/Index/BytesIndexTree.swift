/// A persistent, counted B+tree of (key, value) whose keys are bytes, ordered by key (`IndexKey`) and then by value.
///
/// The same pair may occur more than once. The tree is the index of strings, of data and of all other columns that
/// `IntegerIndexTree` can't serve. Those are the columns wider than 64 bits or nullable, except links. Nodes are pages
/// of 4 KiB (`SlottedPage`). A tree of few entries is one smaller leaf.
///
/// **Separators** are as in `IntegerIndexTree`: every pair before child i is ≤ separator i, every pair from child i
/// on is ≥ it. Between two different keys the separator is the shortest prefix of the right key that is above the
/// left one, with the value `Int64.min`. So inner pages hold little of long keys, and the tree is flat. The first
/// separator of a page is not read.
///
/// A page is split if an entry doesn't fit. At the right edge of the tree the left page then stays full. After a
/// removal, a page less than half full is merged with a neighbour if both together fill at most 7/8 of a page. Entries
/// are never redistributed between neighbours. That could lengthen a separator, and the parent may have no space for
/// it.
///
/// All calls are O(log n) unless they say otherwise. Values are above `Int64.min` and below `Int64.max`.
enum BytesIndexTree {
    struct Split {
        var ref: UInt64
        var count: Int
        /// The separator's value.
        var value: Int64
        /// The length of the separator, which is a prefix of the right page's first key. In an inner page it is all
        /// of that key.
        var keyByteCount: Int

        static var none: Split { Split(ref: 0, count: 0, value: 0, keyByteCount: 0) }
    }

    /// Neighbouring entries of one leaf. Valid while the tree's version is pinned and not written to.
    struct Run {
        fileprivate let page: SlottedPage
        fileprivate let start: Int
        let count: Int

        init(page: SlottedPage, start: Int, count: Int) {
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
