extension RandomAccessCollection where Index == Int, Element: Comparable {
    /// The first place whose element is not below another, where elements ascend; the end where all are. O(log n).
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
