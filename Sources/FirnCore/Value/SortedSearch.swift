extension RandomAccessCollection where Index == Int, Element: Comparable {
    /// Returns the first index whose element is not below `element`, or the end index if all elements are below it. The
    /// elements must be in ascending order. O(log n).
    @inlinable @inline(__always)
    package func firstIndex(notBelow element: Element) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) >> 1
            if self[middle] < element { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
