#if !canImport(ObjectiveC)
    public import Firn
    import FirnStorage
    public import Foundation

    // `NSPredicate(format: "born < %@", date as CVarArg)` compiles on Apple's platforms, where objects of Objective-C,
    // and values that are bridged to them, are variable arguments. Programs often write this cast, so the types of
    // values in queries are variable arguments on Linux, too.

    /// A value that may be a variable argument. `%@` in Foundation's formats shows the value's description, as on
    /// Apple's platforms; Firn's predicates take the value itself.
    public protocol _DescribedArgument: _CVarArgObject {}

    extension _DescribedArgument {
        /// The description as an object, which Foundation's formats use.
        public var _cVarArgObject: any CVarArg { NSString(string: "\(self)") }
        /// Stops the program: only a C function would read this, and no C function knows such values.
        public var _cVarArgEncoding: [Int] {
            stopProgram(
                "a value of the type \(Self.self) was given to a function of C. Give it a number, or a text's bytes."
            )
        }
    }

    extension Date: @retroactive CVarArg, @retroactive _CVarArgObject, _DescribedArgument {}
    extension UUID: @retroactive CVarArg, @retroactive _CVarArgObject, _DescribedArgument {}
    extension Data: @retroactive CVarArg, @retroactive _CVarArgObject, _DescribedArgument {}
    extension Array: @retroactive CVarArg, @retroactive _CVarArgObject, _DescribedArgument {}
    extension Set: @retroactive CVarArg, @retroactive _CVarArgObject, _DescribedArgument {}
    extension NSNumber: @retroactive CVarArg, @retroactive _CVarArgObject, _DescribedArgument {}
    extension NSDate: @retroactive CVarArg, @retroactive _CVarArgObject, _DescribedArgument {}
    extension NSData: @retroactive CVarArg, @retroactive _CVarArgObject, _DescribedArgument {}
    extension NSUUID: @retroactive CVarArg, @retroactive _CVarArgObject, _DescribedArgument {}
    extension NSArray: @retroactive CVarArg, @retroactive _CVarArgObject, _DescribedArgument {}
    extension ObjectBase: CVarArg, _CVarArgObject, _DescribedArgument {}
    extension ObjectId: CVarArg, _CVarArgObject, _DescribedArgument {}
    extension Decimal128: CVarArg, _CVarArgObject, _DescribedArgument {}
#endif
