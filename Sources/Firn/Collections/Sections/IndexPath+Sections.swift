#if !canImport(Darwin)
    public import Foundation

    /// The members of `IndexPath` that UIKit and AppKit add on Apple's platforms.
    extension IndexPath {
        /// The path of an item in a section.
        public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
        /// The path of a row in a section.
        public init(row: Int, section: Int) { self.init(indexes: [section, row]) }
        /// The index of the section: the first index.
        public var section: Int { self[0] }
        /// The index of the item in its section: the second index.
        public var item: Int { self[1] }
        /// The index of the row in its section: the second index.
        public var row: Int { self[1] }
    }
#endif
