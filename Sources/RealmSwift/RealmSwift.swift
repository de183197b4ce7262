/// The name under which a program written for RealmSwift imports Firn: with this product, `import RealmSwift` compiles
/// as it stands. It brings Foundation, as RealmSwift does, and with the trait `Combine` the publishers of
/// `FirnCombine`.
///
/// New programs import `Firn`.
@_exported import Firn
@_exported import FirnCombine
@_exported import Foundation

/// Realm's name for `RealmLogger`. Module `Firn` does not have it, because swift-log has a type of that name.
public typealias Logger = RealmLogger

/// The order of a property. Foundation has a type of this name, too; `RealmSwift.SortDescriptor` is always this one.
public typealias SortDescriptor = Firn.SortDescriptor

#if !canImport(ObjectiveC)
    /// Runs a block and returns its result. Programs for Apple's platforms put it around loops that make many objects;
    /// elsewhere objects are released without it.
    ///
    /// - Throws: what the block throws.
    public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }
#endif
